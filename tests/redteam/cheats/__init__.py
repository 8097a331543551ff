"""Submissions that try to reach the bar of a task without honest work, one module a task."""
