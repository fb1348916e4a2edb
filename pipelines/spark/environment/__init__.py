"""What Spark needs around it: a Java, two jars, an archive of classes, compiled kernels."""
