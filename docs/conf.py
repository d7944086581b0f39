"""Build the documentation with Sphinx, as JAX builds its own: `make docs`. No network is needed."""

import jax_debug_widgets

project = "jax_debug_widgets"
copyright = "The jax_debug_widgets developers"  # noqa: A001 - the name is Sphinx's
version = release = jax_debug_widgets.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

html_theme = "sphinx_book_theme"
html_title = "jax_debug_widgets"
html_theme_options = {"use_download_button": False}

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {}
napoleon_google_docstring = True
napoleon_numpy_docstring = False

# Links from the pages to files of the repository are for readers on GitHub.
suppress_warnings = ["myst.xref_missing"]
