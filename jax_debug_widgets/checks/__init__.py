"""Find JAX's sharp bits in a program; explain at the user's line what happened, why, and what to write.

In:   exceptions that JAX raises, with the frames of the user's code; what hooks have noted while programs were traced and ran.
Out:  explanations and findings: a headline, why, and the code to write instead.
May know: watch, taps, _jax, events.   Must not know: session, widgets, Jupyter.

`errors` matches an exception, `device` makes findings of what was noted, `rewrite` makes the new code from the syntax tree,
`words` has texts, `excerpt` shows one finding as text.
"""

from jax_debug_widgets.checks.errors import explain
from jax_debug_widgets.checks.excerpt import excerpt, text_of
from jax_debug_widgets.checks.explanation import Explanation
from jax_debug_widgets.checks.kinds import Kind, checks_of, named_now, options, severity_of
from jax_debug_widgets.checks.sections import section_of

__all__ = [
    "Explanation",
    "Kind",
    "checks_of",
    "excerpt",
    "explain",
    "named_now",
    "options",
    "section_of",
    "severity_of",
    "text_of",
]
