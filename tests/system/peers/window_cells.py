"""A cell with an output of each kind that the window shows in its own way."""

SVG = "<svg xmlns='http://www.w3.org/2000/svg' width='50' height='40'/>"
TABLE = "<table><tr><td>left<td>right</table>"
RICH = (
    "from IPython.display import display\n"
    "def say(**data):\n"
    "    data = {k.replace('_', '/'): v for k, v in data.items()}\n"
    "    display(data, raw=True)\n"
    f"display({{'image/svg+xml': {SVG!r}}}, raw=True)\n"
    f"say(text_html={TABLE!r}, text_plain='a table')\n"
    "say(text_html='<script>1</script>', text_plain='its text')\n"
    "say(application_json={'names': ['ada', None], 'n': 3})\n"
    "say(text_latex='$x^2$', text_plain='formula')\n"
    "print('\\x1b[31mred \\x1b[1;38;2;0;0;250mblue\\x1b[0m plain')\n"
)
FAILS = "import json\ndef f(): json.loads('{')\nf()"
