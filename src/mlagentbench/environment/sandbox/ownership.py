"""Giving a directory to the uid of a sandbox, and taking it back."""

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
