"""Seeded workloads: S1's price streams and moving objects, and the queries that watch them.

Law: the same set-up and seed give the same bytes on every platform. So only operations with one
right answer are used: integer arithmetic, + − × ÷, square root and rounding of doubles, stable
sorts, and the raw output of PCG64, which NumPy promises never to change. No logarithm, power, sine
or matrix product, whose last bit differs by machine.
"""

from pipelines.workloads.bands import PriceBands
from pipelines.workloads.day import TownDay
from pipelines.workloads.locations import MovingObjects, speed_figures
from pipelines.workloads.roads import RoadNetwork, town
from pipelines.workloads.squares import Garages, Squares
from pipelines.workloads.ticks import Market, PriceWalks, mean_steps
from pipelines.workloads.zones import Corridors, Districts, Geofences, ParkingCircles

__all__ = [
    "Corridors",
    "Districts",
    "Garages",
    "Geofences",
    "Market",
    "MovingObjects",
    "ParkingCircles",
    "PriceBands",
    "PriceWalks",
    "RoadNetwork",
    "Squares",
    "TownDay",
    "mean_steps",
    "speed_figures",
    "town",
]
