"""As if it were not installed: Inspect imports it in every run, which takes seconds."""

raise ImportError("hidden: this is what the base install has")
