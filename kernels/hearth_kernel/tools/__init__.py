"""Host tools, and the calls by which code reaches what is outside.

`from hearth import tools` finds both names here where a session has
hearth-client, and so do copies of the tools that were pickled.
"""

from hearth_kernel.tools.host import ToolError, tools

__all__ = ["ToolError", "tools"]
