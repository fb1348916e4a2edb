"""What drives a lake: a run, the watch, what is done after runs and now and then."""
