"""Whose a workspace is, and that it stays open to its owner."""

import os
import stat
from pathlib import Path


def give_to(uid: int, root: Path) -> None:
    """Make `uid` the owner of `root` and all below it; links are changed, never followed."""
    os.lchown(root, uid, uid)
    if not stat.S_ISDIR(os.lstat(root).st_mode):
        return
    for _path, directories, files, descriptor in os.fwalk(root, follow_symlinks=False):
        for name in (*directories, *files):
            status = os.lstat(name, dir_fd=descriptor)
            if (status.st_uid, status.st_gid) != (uid, uid):
                os.chown(name, uid, uid, dir_fd=descriptor, follow_symlinks=False)


def open_up(directory: Path) -> None:
    """Let the owner of a directory enter it, whatever its mode has become."""
    mode = stat.S_IMODE(directory.lstat().st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        directory.chmod(mode | stat.S_IRWXU)
