// A set of numbers whose cost is proportional to its size.
#pragma once

#include "coterie/machine/buffer.hpp"

namespace coterie {
namespace {

// The numbers of 0 .. n - 1 that were added since `clear`, in their order.
struct Marks {
    explicit Marks(Index n) : places(n), ids(n) { places.fill(-1); }

    // Returns the place of one id, and whether it is new.
    Index add(std::int32_t id, bool& is_new) {
        is_new = places[id] < 0;
        if (is_new) {
            places[id] = static_cast<std::int32_t>(size);
            ids[size++] = id;
        }
        return places[id];
    }
    void clear() {
        for (Index i = 0; i < size; ++i) places[ids[i]] = -1;
        size = 0;
    }

    Buffer<std::int32_t> places;
    Buffer<std::int32_t> ids;
    Index size = 0;
};

// Copies the n ids to `out` (which may be `ids`), each once, in the order in which they come; returns how many.
// Without branches, and without clearing: `places` has an entry for every number, with any content.
inline Index copy_distinct(const std::int32_t* ids, Index n, std::int32_t* places, std::int32_t* out) {
    for (Index i = n - 1; i >= 0; --i) places[ids[i]] = static_cast<std::int32_t>(i);
    Index n_distinct = 0;
    for (Index i = 0; i < n; ++i) {
        const std::int32_t id = ids[i];
        out[n_distinct] = id;
        n_distinct += places[id] == i;
    }
    return n_distinct;
}

}  // namespace
}  // namespace coterie
