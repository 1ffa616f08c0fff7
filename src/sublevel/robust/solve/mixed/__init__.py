"""Integer variables beside cones: polyhedral outer approximation and its masters."""
