// The lists of near points that nearest_by_bytes.hpp keeps.
#pragma once

#include "coterie/machine/views.hpp"

namespace coterie {

// IN/OUT. The lists of rows. Lengths are in the unit of the bytes.
struct NearLists {
    Index m, capacity;
    float* limits;        // one for each row; -infinite if too many points are near
    float* uppers;        // m for each row, ascending
    float* lowers;        // capacity for each row
    std::int32_t *ids;    // the same
    std::int32_t* sizes;  // one for each row
};

// Rows, with the number of the first one in `NearLists` and in ids.
template <class T>
struct NearBlock {
    DenseRows<T> rows;  // relative to a point amid them
    Index first;
};

}  // namespace coterie
