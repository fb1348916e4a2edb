"""Lines of text that are like one of them: read column by column, by a pattern made of that one."""
