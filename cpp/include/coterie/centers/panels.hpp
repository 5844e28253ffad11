// Panels of centroids: a panel is one cache line wide, 16 floats or 8 doubles, one centroid per lane, stored dimension
// by dimension.
#pragma once

#include "coterie/machine/buffer.hpp"
#include "coterie/machine/parallel.hpp"
#include "coterie/machine/views.hpp"

namespace coterie {

// Centroids relative to the data's shift m, in the layout of the kernels:
// ||x - c||^2 = ||x - m||^2 + offsets[c] - 2 x . centers[c], with offsets[c] = ||c - m||^2 + 2 m . (c - m).
template <class T>
struct Centers {
    const T* data;       // n_centers x n_columns, row-major, each minus the shift
    const T* offsets;    // n_centers
    Index n_centers;
    Index n_columns;
};

namespace {

// Number of panels that are stored side by side, dimension by dimension. A sparse row reads its dimensions at random,
// and adjacent cache lines of a dimension cost little more than one.
template <class Rows>
inline constexpr Index kMostBeside = 1;
template <class T>
inline constexpr Index kMostBeside<CsrRows<T>> = 4;

// Centroids times -2 in panels. Slots beyond the last centroid of a panel have an infinite offset: never chosen.
template <class T>
struct Panels {
    Index n_panels;
    Index n_columns;
    Index n_beside;
    Buffer<T> values;         // n_panels / n_beside (rounded up) x n_columns x n_beside x kLanes
    Buffer<T> offsets;        // n_panels x kLanes
    Buffer<std::int32_t> ids; // n_panels x kLanes: which centroid is in the slot, -1 for none

    Index stride() const { return n_beside * kLanes<T>; }  // from one dimension to the next
    Index place(Index p) const { return p / n_beside * n_columns * stride() + p % n_beside * kLanes<T>; }
    const T* panel(Index p) const { return values.data() + place(p); }
    const T* panel_offsets(Index p) const { return offsets.data() + p * kLanes<T>; }
    const std::int32_t* panel_ids(Index p) const { return ids.data() + p * kLanes<T>; }
    // Whether only the first half of its slots is used, so that the other half is not computed: the last ones may be empty.
    bool is_half_empty(Index p) const {
        if (p != n_panels - 1) return false;
        bool empty = true;
        for (Index l = kLanes<T> / 2; l < kLanes<T>; ++l) empty &= panel_ids(p)[l] < 0;
        return empty;
    }
};

// order: the centroid of each slot (n_slots entries, -1 for an empty slot), or nullptr for the natural order.
template <class Rows, class T = typename Rows::value_type>
Panels<T> pack(const Centers<T>& centers, const std::int32_t* order, Index n_slots, int n_threads) {
    constexpr Index W = kLanes<T>;
    const Index n_panels = ceil_div(n_slots, W), d = centers.n_columns;
    const Index n_slabs = ceil_div(n_panels, kMostBeside<Rows>), n_beside = ceil_div(n_panels, n_slabs);
    Panels<T> out{n_panels, d, n_beside, Buffer<T>(n_slabs * n_beside * d * W), Buffer<T>(n_panels * W),
                  Buffer<std::int32_t>(n_panels * W)};
    parallel_for(n_panels, n_threads, [&](Index p) {
        const T* sources[W];
        for (Index l = 0; l < W; ++l) {
            const Index slot = p * W + l;
            const Index id = slot >= n_slots ? -1 : order == nullptr ? slot : order[slot];
            out.ids[slot] = static_cast<std::int32_t>(id);
            out.offsets[slot] = id < 0 ? infinity<T>() : centers.offsets[id];
            sources[l] = centers.data + (id < 0 ? 0 : id) * d;
        }
        T* to = out.values.data() + out.place(p);
        for (Index j = 0; j < d; ++j, to += out.stride())
            for (Index l = 0; l < W; ++l) to[l] = T(-2) * sources[l][j];
    });
    return out;
}

}  // namespace
}  // namespace coterie
