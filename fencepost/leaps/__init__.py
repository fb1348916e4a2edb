"""Which queries did a step of a stream leap through?

A query with `leaps` that holds at neither end of a step may have held in between: a price gap, a
zone passed between two fixes. Values are taken to change evenly from one tuple to the next.

Law: a step (p, c) leaps through a query iff it holds at neither, and the straight way from p to c
meets a box of the query, in it its shape if it has one. No event is made of it.
"""
