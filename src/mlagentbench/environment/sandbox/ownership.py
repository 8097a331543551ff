"""Giving a directory to the uid of a sandbox, and taking it back."""

import os
from pathlib import Path


def give_to(uid: int, root: Path) -> None:
    """Make `uid` the owner of everything below `root`; links are changed, never followed."""
    status = os.lstat(root)
    os.lchown(root, uid, uid)
    if not os.path.isdir(root) or os.path.islink(root):  # noqa: PTH112, PTH114
        return
    for _path, directories, files, descriptor in os.fwalk(root, follow_symlinks=False):
        for name in (*directories, *files):
            status = os.lstat(name, dir_fd=descriptor)
            if (status.st_uid, status.st_gid) != (uid, uid):
                os.chown(name, uid, uid, dir_fd=descriptor, follow_symlinks=False)
