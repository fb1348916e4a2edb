"""Spark, and the Java and jars it needs; who does the work of tasks."""
