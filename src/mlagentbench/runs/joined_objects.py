"""Reading what two runs stored, also when they lie below different --out directories."""

from pathlib import Path

from mlagentbench.runs.objects import ObjectStore


class JoinedObjects(ObjectStore):
    """The objects of several stores, to be read only."""

    def __init__(self, *directories: Path) -> None:
        super().__init__(directories[0])
        self._stores = [ObjectStore(directory) for directory in dict.fromkeys(directories)]

    def path(self, digest: str) -> Path:
        """Where an object is; its place in the first store when it is nowhere."""
        places = [store.path(digest) for store in self._stores]
        return next((place for place in places if place.exists()), places[0])
