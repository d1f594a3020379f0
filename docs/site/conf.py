"""Sphinx's settings of the site that build.py makes: Markdown pages, a theme of Sphinx's own, no network.

https://www.sphinx-doc.org/en/master/usage/configuration.html
"""
project = "forescale"
author = "the authors of forescale"
project_copyright = author
version = release = ""

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
exclude_patterns = []
nitpicky = True

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4  # page.md#a-heading, as elsewhere
highlight_language = "none"  # blocks without a language are no Python

html_theme = "alabaster"
html_title = "forescale"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # a browser fetches no other page of a folder
html_show_sphinx = False
html_show_copyright = False
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_theme_options = {
  "description": "How distributed DNN training scales, before the nodes are bought",
  "page_width": "1240px",
  "sidebar_width": "250px",
  "font_family": "sans-serif",
  "head_font_family": "sans-serif",
  "fixed_sidebar": False,
  "sidebar_collapse": True,
  "show_powered_by": False,
}
