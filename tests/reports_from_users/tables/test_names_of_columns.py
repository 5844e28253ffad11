"""Times, dates and numbers of records that are stored as integers, by the names that real tables give them."""

import numpy as np
import pyarrow as pa
import pytest

from coterie.rows import table_roles

N = 200
RNG = np.random.default_rng(0)
X = RNG.normal(size=N)
EPOCH = 1_650_000_000 + RNG.integers(0, 10**7, N)
DAYS = 20210101 + RNG.integers(0, 12, N) * 100 + RNG.integers(0, 28, N)
SERIAL = 44_000 + RNG.integers(0, 900, N)
UNIQUE = RNG.permutation(9000)[:N] + 10
LONG = RNG.integers(10**9, 10**10, N)
REPEATED = RNG.integers(10_000, 99_999, N) // 100 * 100
SHUFFLED = RNG.permutation(N) + 1

TIMES = "time timestamp created_at event_time unixReviewTime startTime last_modified InvoiceDate order_date ts utc"
DATES = "date Date order_date dt day yyyymmdd DATE dob InvoiceDate"
RECORDS = (
    "id ID userId UserID CustomerID PassengerId Loan_ID EmployeeNumber order_no OrderNo account account_number code "
    "product_code sku key index Index row RowNumber No # nr num serial ID_code id_client pk ticket record seq SEQN SN"
)


def role(name, cells):
    roles = table_roles(pa.table({name: cells, "x": X}))
    return "feature" if name in roles.names else dict(roles.left_out)[name]


@pytest.mark.parametrize(
    "name", [*TIMES.split(), "pickup_datetime", "epoch", "date_added", "Time (s)", "posted", "t"]
)
def test_seconds_since_1970(name):
    assert role(name, EPOCH) == role(name, EPOCH * 1000) == "date"


@pytest.mark.parametrize("name", DATES.split())
def test_days_as_eight_digits(name):
    assert role(name, DAYS) == "date"


@pytest.mark.parametrize("name", ["date", "Date", "order_date", "InvoiceDate"])
def test_days_of_spreadsheets(name):
    assert role(name, SERIAL) == role(name, SERIAL + 0.25) == "date"


@pytest.mark.parametrize("name", [*RECORDS.split(), "customer id", "Unnamed: 0"])
def test_numbers_of_records(name):
    assert role(name, UNIQUE) == "id"


@pytest.mark.parametrize("name", ["phone", "phone_number", "mobile", "ssn", "barcode", "ean", "isbn", "card"])
def test_long_numbers(name):
    assert role(name, LONG) == "id"


@pytest.mark.parametrize("name", ["zip", "zipcode", "zip_code", "postal_code", "plz", "naics", "area_code"])
def test_codes_that_repeat(name):
    assert role(name, REPEATED) == "id"


@pytest.mark.parametrize("name", ["x1", "instant", "SN", "respondent", "Unnamed: 0", "index"])
def test_row_numbers_in_any_order(name):
    assert role(name, SHUFFLED) == role(name, np.sort(SHUFFLED)) == "id"


@pytest.mark.parametrize(
    "name", ["population", "income", "count", "Milk", "price", "grid", "humid", "acid", "area"]
)
def test_measurements_are_features(name):
    assert role(name, UNIQUE) == role(name, LONG) == "feature"


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("year", RNG.integers(1950, 2020, N)), ("rank", SHUFFLED), ("day", RNG.integers(1, 32, N)),
        ("month", RNG.integers(1, 13, N)),
        ("number", RNG.integers(1, 20, N)), ("time", RNG.integers(1, 10_000, N)), ("account length", UNIQUE),
    ],
)  # fmt: skip
def test_values_that_are_no_dates_nor_ids(name, cells):
    assert role(name, cells) == "feature"
