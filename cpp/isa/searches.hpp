// Included once by each file of searches: see instantiate.hpp.
#pragma once

#include "coterie/kernel_table.hpp"

namespace coterie {
namespace {

using Number = COTERIE_NUMBER;

template <class Isa>
constinit const SearchesOf<Number> kSearchesOf = {
    .dense_rows = {.assign = assign<Isa, DenseRows<Number>>, .bounded_assign = bounded_assign<Isa, DenseRows<Number>>},
    .sparse_rows = {.assign = assign<Isa, CsrRows<Number>>, .bounded_assign = bounded_assign<Isa, CsrRows<Number>>},
    .take_batches = take_batches<Isa, Number>,
    .nearest_by_bytes = nearest_by_bytes<Isa, Number>,
    .byte_limits = {BytesOf<Isa>::kLeastColumns, BytesOf<Isa>::kLeastCenters, BytesOf<Isa>::kLeastProducts,
                    BytesOf<Isa>::kBoundColumns},
};

}  // namespace
}  // namespace coterie
