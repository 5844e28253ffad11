// Distinct numbers of a list.
#pragma once

#include "coterie/machine/buffer.hpp"

namespace coterie {
namespace {

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
