"""What is shown of a lake: views, marts, reports, plots, explanations, the UI."""
