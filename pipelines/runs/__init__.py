"""What drives a lake: a run, the watch, tidying after runs, maintenance."""
