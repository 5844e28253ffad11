// A set of numbers that costs what it holds.
#pragma once

#include "coterie/machine/buffer.hpp"

namespace coterie {
namespace {

// Which of the numbers 0 .. n - 1 have been met since `clear`, and in which order.
struct Marks {
    explicit Marks(Index n) : places(n), ids(n + 1) { places.fill(-1); }

    // Adds id(0) .. id(n - 1). Without a branch: whether one is new cannot be predicted.
    template <class Id>
    void add_all(Index n, Id id) {
        std::int32_t* const place = places.data();
        std::int32_t* const listed = ids.data();
        std::int32_t next = static_cast<std::int32_t>(size);
        for (Index i = 0; i < n; ++i) {
            const std::int32_t c = id(i), before = place[c], is_new = before >> 31;  // 0 or -1
            place[c] = before ^ ((before ^ next) & is_new);
            listed[next] = c;
            next -= is_new;
        }
        size = next;
    }
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

}  // namespace
}  // namespace coterie
