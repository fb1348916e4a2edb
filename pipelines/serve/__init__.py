"""What a lake shows: views, status, marts, reports, plots, explanations, the UI."""
