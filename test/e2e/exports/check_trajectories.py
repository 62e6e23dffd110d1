"""Validates each line of standard input with Harbor's own models; prints the trajectories as Harbor reads them."""

import json
import sys

from harbor.models.trajectories.trajectory import Trajectory

for line in sys.stdin:
    trajectory = Trajectory.model_validate_json(line)
    calls = [call.function_name for step in trajectory.steps for call in step.tool_calls or []]
    print(json.dumps([trajectory.schema_version, trajectory.trajectory_id, len(trajectory.steps), calls]))
