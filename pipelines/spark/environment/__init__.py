"""The environment that Spark needs: a Java, two jars, an archive of classes, compiled kernels."""
