"""Hold programs as frozen data, show them as tables, and compare them.

In:   a `Program`, which `_jax` reads from what JAX has traced; values of its equations as NumPy arrays.
Out:  tables, differences and findings, each as text, as HTML, and as rows of plain data.
May know: numpy, events.amounts.   Must not know: JAX, Jupyter, any other room.
"""

from jax_debug_widgets.graphs.against_float64 import AgainstFloat64, Rounding
from jax_debug_widgets.graphs.against_op_by_op import AgainstOpByOp, Observed
from jax_debug_widgets.graphs.compare import Comparison, compare
from jax_debug_widgets.graphs.corresponding import computes_the_same
from jax_debug_widgets.graphs.diff import Diff, EquationChange, diff
from jax_debug_widgets.graphs.executed import ExecutedProgram
from jax_debug_widgets.graphs.graph import Graph
from jax_debug_widgets.graphs.linked import Linked
from jax_debug_widgets.graphs.program import Body, Equation, Operand, Program, Role, Source, Type
from jax_debug_widgets.graphs.saved import SavedValues
from jax_debug_widgets.graphs.table import ProgramTable
from jax_debug_widgets.graphs.traces import Traces

__all__ = [
    "AgainstFloat64",
    "AgainstOpByOp",
    "Body",
    "Comparison",
    "Diff",
    "Equation",
    "EquationChange",
    "ExecutedProgram",
    "Graph",
    "Linked",
    "Observed",
    "Operand",
    "Program",
    "ProgramTable",
    "Role",
    "Rounding",
    "SavedValues",
    "Source",
    "Traces",
    "Type",
    "compare",
    "computes_the_same",
    "diff",
]
