"""Spark, the Java and jars it needs, and the runners of tasks."""
