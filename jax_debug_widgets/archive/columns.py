"""Check that a table that was read has the columns of its schema."""

from __future__ import annotations

import pyarrow as pa

from jax_debug_widgets.archive.layout import RunFileError
from jax_debug_widgets.archive.schemas import LATER


def fitted(table: pa.Table, schema: pa.Schema, path: str) -> pa.Table:
    """Return the columns of the schema, in its order; columns that older files lack are null.

    Raises:
      RunFileError: a column is missing, or has another type.
    """
    try:
        table.validate(full=True)
        for field in schema:
            if field.name in LATER and field.name not in table.column_names:
                table = table.append_column(field, pa.nulls(len(table), field.type))
        return table.select(schema.names).cast(schema)
    except (KeyError, pa.ArrowException) as error:
        raise RunFileError(f"{path} does not have the columns of its table: {error}") from None
