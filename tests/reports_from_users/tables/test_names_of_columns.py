"""Times, dates and numbers of records that are stored as integers, by the names that real tables give them."""

import numpy as np
import pyarrow as pa
import pytest

from coterie.rows import prepare_rows

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

# Names, what cells columns of this name may have, and their role.
ROLES = {
    "seconds and milliseconds since 1970": (
        "time,timestamp,created_at,event_time,unixReviewTime,startTime,last_modified,InvoiceDate,order_date,ts,utc,"
        "pickup_datetime,epoch,date_added,Time (s),posted,t",
        (EPOCH, EPOCH * 1000), "date",
    ),
    "days as eight digits": ("date,Date,order_date,dt,day,yyyymmdd,DATE,dob,InvoiceDate", (DAYS,), "date"),
    "days of spreadsheets": ("date,Date,order_date,InvoiceDate", (SERIAL, SERIAL + 0.25), "date"),
    "numbers of records": (
        "id,ID,userId,UserID,CustomerID,PassengerId,Loan_ID,EmployeeNumber,order_no,OrderNo,account,account_number,code,"
        "product_code,sku,key,index,Index,row,RowNumber,No,#,nr,num,serial,ID_code,id_client,pk,ticket,record,seq,SEQN,"
        "SN,customer id,Unnamed: 0,ordernumber,Kundennr,Artikelnummer",
        (UNIQUE,), "id",
    ),
    "long numbers": ("phone,phone_number,mobile,ssn,barcode,ean,isbn,card", (LONG,), "id"),
    "codes that repeat": ("zip,zipcode,zip_code,postal_code,plz,naics,area_code", (REPEATED,), "id"),
    "row numbers": ("x1,instant,SN,respondent,Unnamed: 0,index", (SHUFFLED, np.sort(SHUFFLED)), "id"),
    "measurements": ("population,income,count,Milk,price,grid,humid,acid,area", (UNIQUE, LONG), "feature"),
    "years": ("year", (RNG.integers(1950, 2020, N),), "feature"),
    "ranks": ("rank", (SHUFFLED,), "feature"),
    "days of a month": ("day,month,number", (RNG.integers(1, 13, N),), "feature"),
    "times of a race": ("time", (RNG.integers(1, 10_000, N),), "feature"),
    "lengths": ("account length", (UNIQUE,), "feature"),
}  # fmt: skip


@pytest.mark.parametrize("case", ROLES)
def test_roles_by_names_and_values(case):
    names, columns, expected = ROLES[case]
    for name in names.split(","):
        for cells in columns:
            roles = prepare_rows(pa.table({name: cells, "x": X})).roles
            found = "feature" if name in roles.features else dict(roles.left_out)[name]
            assert (name, found) == (name, expected)
