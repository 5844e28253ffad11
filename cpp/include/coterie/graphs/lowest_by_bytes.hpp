// The points that may be nearest to each row, by products of bytes (quantized.hpp).
#pragma once

#include "coterie/centers/panels.hpp"
#include "coterie/centers/quantized.hpp"
#include "coterie/centers/sorted_lists.hpp"

namespace coterie {
namespace {

// Lists of the m points whose scores |y|^2 - 2 x . y can be the lowest, with the least scores that they can have: those of
// all other points are not below the last one of a list. Returns false where bytes are not faster than `nearest`.
// IN x and points relative to a point amid them, first_id as in `nearest`; IN/OUT ids, least (n x m).
template <class Isa, class T>
bool lowest_by_bytes(const DenseRows<T>& x, const Centers<T>& points, Index first_id, Index m, std::int32_t* ids,
                     T* least, int n_threads) {
    if constexpr (BytesOf<Isa>::kExists) {
        constexpr int C = BytesOf<Isa>::kVectors;
        constexpr Index kSlots = BytePanels<Isa, C>::kSlots, W = kLanes<float>, L = Isa::kRegisterBytes / 4;
        constexpr Index kChunk = 48, kSlab = 1024 / kSlots;
        using V = typename Isa::template Vector<float>;
        const Index d = x.n_columns, width = byte_width(d);
        if (d < BytesOf<Isa>::kLeastColumns || d > kMostByteColumns) return false;
        Buffer<T> shift(d);
        shift.fill(0);
        const T unit = unit_of(points.data, shift.data(), points.n_centers, d);
        if (!(unit > 0)) return false;
        const T scale = 1 / (unit * unit);
        Buffer<std::int32_t> order(points.n_centers);
        for (Index c = 0; c < points.n_centers; ++c) order[c] = static_cast<std::int32_t>(c);
        const BytePanels<Isa, C> panels =
            pack_bytes<Isa, C>(points.data, shift.data(), unit, order.data(), points.n_centers, d, n_threads);
        struct Scratch {
            Buffer<std::int8_t> values;
            Buffer<QuantizedVector> rows;
            Buffer<float> relative, scores, lowest, errors, bounds;
        };
        const auto make_scratch = [&] {
            return Scratch{Buffer<std::int8_t>(kChunk * width), Buffer<QuantizedVector>(kChunk), Buffer<float>(width),
                           Buffer<float>(kChunk * kSlab * kSlots), Buffer<float>(kChunk * kSlab * L),
                           Buffer<float>(kChunk * kSlab), Buffer<float>(kChunk * L)};
        };
        parallel_for(ceil_div(x.n_rows, kChunk), n_threads, make_scratch, [&](Index task, Scratch& scratch) {
            const Index begin = task * kChunk, n = min_index(kChunk, x.n_rows - begin);
            for (Index i = 0; i < n; ++i)
                scratch.rows[i] = quantize<Isa>(x.row(begin + i), shift.data(), d, unit, scratch.relative.data(),
                                                scratch.values.data() + i * width);
            for (Index e = first_id == 0 ? begin * m : (begin + n) * m; e < (begin + n) * m; ++e) {
                least[e] = infinity<T>();
                ids[e] = 0;
            }
            for (Index first = 0; first < panels.n_panels; first += kSlab) {
                const Index n_panels = min_index(kSlab, panels.n_panels - first);
                const ByteRows rows{scratch.values.data(), scratch.rows.data(),  first, n_panels, scratch.scores.data(),
                                    scratch.lowest.data(), scratch.errors.data(), scratch.bounds.data()};
                for (Index p = first; p < first + n_panels; ++p)
                    byte_tiles<Isa, BytesOf<Isa>::kRows, C>(rows, 0, n, panels, p);
                for (Index i = 0; i < n; ++i) {
                    T* const kept = least + (begin + i) * m;
                    std::int32_t* const listed = ids + (begin + i) * m;
                    for (Index p = 0; p < n_panels; ++p) {
                        const Index line = i * n_panels + p;
                        const float error = scratch.errors[line], limit = static_cast<float>(kept[m - 1] / scale) + 1.5f * error;
                        if (!Isa::any_below(*reinterpret_cast<const V*>(scratch.lowest.data() + line * L), V{} + limit))
                            continue;
                        const float* const scores = scratch.scores.data() + line * kSlots;
                        for (Index at = 0; at < kSlots; at += W)
                            for (unsigned below = Isa::below(scores + at, limit); below != 0; below &= below - 1) {
                                const Index lane = at + __builtin_ctz(below);
                                const T lowest = static_cast<T>(scores[lane] - error) * scale;
                                if (lowest < kept[m - 1])
                                    insert_sorted(kept, listed, m, lowest,
                                                  static_cast<std::int32_t>(first_id) + panels.ids[(first + p) * kSlots + lane]);
                            }
                    }
                }
            }
            // Rows that are too large beside the points have no bounds.
            for (Index i = 0; i < n; ++i)
                if (!(scratch.rows[i].scale < infinity<float>())) least[(begin + i + 1) * m - 1] = -infinity<T>();
        });
        return true;
    }
    return false;
}

}  // namespace
}  // namespace coterie
