// The lowest of many scores, in no order until the end. A sorted list moves half of its entries for each score that enters;
// here scores are appended, and the highest are dropped when the list is full.
#pragma once

#include "coterie/centers/sorted_lists.hpp"

namespace coterie {
namespace {

// The lowest scores of one row and their ids; ties in the order of insertion.
template <class Isa, class T>
class Shortlist {
   public:
    static constexpr Index W = kLanes<T>;

    // Capacity of a list that ends with m entries, in whole cache lines.
    static Index capacity(Index m) { return ceil_div(m + max_index(4 * W, m), W) * W; }

    Shortlist() = default;
    // IN/OUT scores (aligned to a cache line), ids: `capacity` of them, scratch.
    Shortlist(T* scores, std::int32_t* ids, Index m) : scores_(scores), ids_(ids), m_(m) {}

    // Inserts the scores of a panel that may be among the lowest; id(lane) is the id of a lane, -1 to leave it out.
    template <class Id>
    inline void add_lanes(const T* lanes, Id id) {
        for (unsigned below = Isa::below(lanes, bound_); below != 0; below &= below - 1) {
            const int lane = __builtin_ctz(below);
            scores_[size_] = lanes[lane];
            ids_[size_] = id(lane);
            size_ += ids_[size_] >= 0;
        }
        if (size_ > capacity(m_) - W) shrink();
    }

    // Sorts the m lowest by score; -1 and infinite where there are too few.
    void finish(T* scores, std::int32_t* ids) {
        shrink();
        for (Index k = 0; k < m_; ++k) {
            scores[k] = infinity<T>();
            ids[k] = -1;
        }
        for (Index e = 0; e < size_; ++e)
            if (scores_[e] < scores[m_ - 1]) insert_sorted(scores, ids, m_, scores_[e], ids_[e]);
    }

    // Drops scores until at least m, and few more, are left.
    void shrink() {
        if (size_ <= m_) return;
        const Index most = m_ + W;
        for (Index e = size_; e < ceil_div(size_, W) * W; ++e) scores_[e] = infinity<T>();
        T low = -infinity<T>(), high = infinity<T>();  // fewer than m are below `low`, more than `most` below `high`
        for (Index e = 0; e < size_;) {
            const T pivot = scores_[e];
            if (!(low < pivot && pivot < high)) {
                ++e;
                continue;
            }
            const Index n = n_below(pivot);
            if (n < m_) low = pivot;
            else high = pivot;
            if (n >= m_ && n <= most) break;
        }
        // No score is between them now, or few enough are below `high`; the rest are equal to `low`.
        const bool is_cut = high < infinity<T>() && n_below(high) <= most;
        Index n_equal = is_cut ? 0 : m_ - n_below(low), kept = 0;
        const T bound = is_cut ? high : low;
        for (Index e = 0; e < size_; ++e) {
            const T score = scores_[e];
            bool stays = score < bound;
            if (!stays && score == bound && n_equal > 0) {
                --n_equal;
                stays = true;
            }
            scores_[kept] = score;
            ids_[kept] = ids_[e];
            kept += stays;
        }
        size_ = kept;
        bound_ = bound;
    }

   private:
    Index n_below(T bound) const {
        Index n = 0;
        for (Index e = 0; e < size_; e += W) n += __builtin_popcount(Isa::below(scores_ + e, bound));
        return n;
    }

    T* scores_ = nullptr;
    std::int32_t* ids_ = nullptr;
    Index m_ = 0;
    Index size_ = 0;
    T bound_ = infinity<T>();
};

}  // namespace
}  // namespace coterie
