"""The settings of Sphinx for a site of these pages: `make site`. On a forge the same pages are read as they are."""

import re
from pathlib import Path

from sphinx.application import Sphinx

DOCUMENTS = Path(__file__).parent

project = "keylake"
author = "the keylake project"
html_title = "keylake"
exclude_patterns = ["requirements.lock"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
myst_heading_anchors = 4
myst_enable_extensions = ["smartquotes"]
smartquotes = False

html_theme = "furo"
html_theme_options = {"navigation_with_keys": False}
html_show_sphinx = False
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
pygments_style = "tango"
pygments_dark_style = "monokai"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
copybutton_prompt_text = "$ "  # of commands, whose output is not copied either
default_role = "literal"  # single backticks, as in Markdown
suppress_warnings = ["misc.highlighting_failure"]  # JSON inside of SET
highlight_language = "python"
toc_object_entries_show_parents = "hide"


def add_table_of_contents(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the pages that an index links into the site's table of contents, by its sections and in their order."""
    if page.rpartition("/")[2] != "index":
        return
    here = Path(app.srcdir, page).parent
    for section in re.split(r"^## ", source[0], flags=re.MULTILINE):
        linked = [link for link in re.findall(r"\]\((\w[\w./]*)\.md\)", section) if (here / f"{link}.md").exists()]
        caption = f":caption: {section.splitlines()[0]}\n" if source[0].count(f"## {section}") else ""
        if linked:
            source[0] += f"\n\n```{{toctree}}\n:hidden:\n{caption}" + "\n".join(dict.fromkeys(linked)) + "\n```\n"


def name_files_outside(app: Sphinx, page: str, source: list[str]) -> None:
    """A link to a file of the repository that is no page becomes its path."""
    here = Path(app.srcdir, page).parent
    repository = DOCUMENTS.parents[1]

    def named(link: re.Match[str]) -> str:
        path = (here / link[2]).resolve()
        is_page = path.is_relative_to(DOCUMENTS) or not path.is_relative_to(repository)
        return link[0] if is_page else f"{link[1]} (`{path.relative_to(repository)}`)"

    source[0] = re.sub(r"(?<!!)\[([^\]]*)\]\((\.\.[^)#\s]*)\)", named, source[0])


def add_changes(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the changelog of the repository below the head of its page."""
    if page == "release_notes":
        _, _, changes = (DOCUMENTS.parents[1] / "CHANGELOG.md").read_text().partition("\n## ")
        source[0] = f"{source[0].partition(chr(10))[0]}\n\n## {changes}".replace("](sdk/docs/", "](")


def leave_out_inherited_words(app: Sphinx, kind: str, name: str, value: object, skip: bool, options: object) -> bool:
    """Members of pydantic's and Python's own classes are described by them."""
    where = getattr(value, "__module__", None) or getattr(getattr(value, "fget", None), "__module__", "")
    is_of_row = getattr(value, "__qualname__", name) != "Table.from_row" and name in ("from_row", "all_of")
    return skip or is_of_row or name.startswith("model_") or (callable(value) and not str(where).startswith("keylake"))


def leave_out_signature(
    app: Sphinx, kind: str, name: str, value: type, options: object, signature: str | None, returns: str | None
) -> tuple[str, None] | None:
    """Nobody calls the class of what verbs return: its signature would show our own parts."""
    is_returned = kind == "class" and name.rpartition(".")[2] in {"LocalTable", "MergedRows"}
    return ("", None) if is_returned else None


def setup(app: Sphinx) -> None:
    """The function that Sphinx calls first."""
    app.connect("source-read", add_changes)
    app.connect("source-read", name_files_outside)
    app.connect("source-read", add_table_of_contents)
    app.connect("autodoc-skip-member", leave_out_inherited_words)
    app.connect("autodoc-process-signature", leave_out_signature)
