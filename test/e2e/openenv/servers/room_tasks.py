"""The tasks of the room, and its failures on demand."""

import os
import threading
from typing import Any

# object, colour, price, price of its delivery
TASKS: dict[str, list[tuple[str, str, int, int]]] = {
    "train": [("lamp", "red", 3, 4), ("door", "green", 5, 6), ("chair", "blue", 7, 8), ("rug", "white", 9, 1)],
    "test": [("vase", "black", 2, 3), ("clock", "yellow", 4, 5)],
}
OBJECTS = {task[0]: task for tasks in TASKS.values() for task in tasks}


def misbehave(text: str) -> None:
    """Fails in the way that the text asks for; does nothing for other texts."""
    if text == "!raise":
        raise RuntimeError("the room was asked to raise")
    if text == "!exit":
        os._exit(3)
    if text == "!hang":
        threading.Event().wait()


class RoomTasks:
    """The Task API, which OpenEnv finds by the names of the methods."""

    def list_splits(self) -> list[str]:
        return list(TASKS)

    def num_tasks(self, split: str) -> int:
        return len(TASKS.get(split, []))

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        if not 0 <= index < self.num_tasks(split):
            raise IndexError(f"{split} has no task {index}")
        return {"id": f"{split}-{index}", "split": split, "index": index, "object": TASKS[split][index][0]}

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        return [self.get_task(split, index) for index in range(self.num_tasks(split))]

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        return self.list_tasks(split)[start:stop]
