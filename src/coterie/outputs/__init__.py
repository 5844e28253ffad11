"""What runs leave behind: files that appear whole or not at all, alone or several of a folder at once.

Hidden names beside the files are this room's, and all begin with `.coterie-`; nothing of them is left after a run, and
what a run leaves that was killed, the next one removes.
"""

from coterie.outputs.folders import OutputFolder
from coterie.outputs.journals import finish_commits, newest
from coterie.outputs.single import naming, replacing
from coterie.outputs.temporary import TemporaryFolder

__all__ = ["OutputFolder", "TemporaryFolder", "finish_commits", "naming", "newest", "replacing"]
