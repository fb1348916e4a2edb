"""What the names of columns suggest: streams, times, positions, counters.

Law: a name only ranks what the values allow; no column has a role by its name alone.
"""

import re

from fencepost.position import LATITUDES, LONGITUDES


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STREAMS = _words(
    """
    stream stream_id symbol sym ticker tickers instrument instrument_id pair isin ric cusip
    asset security market product product_id contract currency_pair device device_id
    deviceid dev_id vehicle vehicle_id vehicleid vehicle_ref bus_id taxi taxi_id car car_id
    truck truck_id uid user user_id userid person_id tracker tracker_id trackid mmsi imei
    imo icao24 callsign sensor sensor_id station station_id ship ship_id vessel vessel_id
    boat boat_id animal animal_id individual_local_identifier tag_local_identifier tag_id
    host hostname server node instance pod
    asset_id machine_id meter_id unique_id entity_id entity object_id
    """
)
"""Names of what has one value at a time."""
WEAK_STREAMS = _words(
    """
    id name key code trip trip_id tripid trajectory_id traj_id track_id journey_id ride_id
    tid stock fund series
    """
)
TIMES = _words(
    """
    ts t time timestamp datetime date_time event_time eventtime event_ts time_utc utc_time
    timestamp_utc gmt_time transact_time trade_time recorded_at measured_at observed_at
    """
)
MAYBE_TIMES = re.compile(r"time|date|stamp|(^|_)(ts|dt|t|when|at)(_|$)|day|epoch|clock")
EAST = LONGITUDES | {"x"}
NORTH = LATITUDES | {"y"}
COUNTERS = re.compile(
    r"(^|_)(id|ids|uid|uuid|no|nr|nbr|num|number|code|zip|zipcode|postcode|index|idx|row|rowid|"
    r"fid|gid|seq|sequence|key|hash|name|type|kind|flag|flags|condition|status|version|phone)$"
)
"""Numbers with such names count or name, and measure nothing."""
SEQUENCES = ("sequence", "seq", "sequence_number", "seq_no", "seq_num", "trade_id", "tradeid")
MORE_SEQUENCES = ("agg_trade_id", "update_id", "event_id", "tid", "id", "a")
"""Numbers that a source gives its rows one after another, the likelier names first."""
VALUES = _words(
    """
    open high low close adj_close volume vol price bid ask last size qty quantity amount
    cost vwap trades turnover mid spread rate value values bid_price ask_price bid_size
    ask_size bidsize asksize limit strike return yield open_interest openinterest count n
    quote_volume speed velocity heading bearing course sog cog altitude alt elevation ele
    height accuracy hdop depth distance temperature temp humidity pressure wind rain voltage
    current power energy load cpu memory battery level signal rssi celsius fahrenheit ph co2
    pm25 pm10 lux weight mass latency duration o h l c v p q s
    """
) | (EAST | NORTH)
"""Names of what is measured: a file that has any of them beside its time is not a wide one."""
