// Short lists of the nearest, sorted by score.
#pragma once

#include "coterie/machine/numbers.hpp"

namespace coterie {
namespace {

// Puts (score, id) into a list sorted by score, then id; its last entry falls out.
template <class T>
void insert_sorted(T* scores, std::int32_t* ids, Index m, T score, std::int32_t id) {
    Index at = m - 1;
    for (; at > 0 && score < scores[at - 1]; --at) {
        scores[at] = scores[at - 1];
        ids[at] = ids[at - 1];
    }
    scores[at] = score;
    ids[at] = id;
}

// Inserts the scores of a panel that are below the last of a list; id(lane) is the id of a lane.
template <class Isa, class T, class Id>
inline void insert_lanes(const T* lanes, Id id, Index m, T* scores, std::int32_t* ids) {
    unsigned below = Isa::below(lanes, scores[m - 1]);
    if (m == 1 && below != 0) {
        // The least of them at once: which of them are below those before is not to be predicted.
        constexpr Index W = kLanes<T>;
        T least[W];
        for (Index l = 0; l < W; ++l) least[l] = lanes[l] < scores[0] ? lanes[l] : scores[0];
        for (Index half = W / 2; half > 0; half /= 2)
            for (Index l = 0; l < half; ++l) least[l] = least[l + half] < least[l] ? least[l + half] : least[l];
        unsigned equal = 0;
        for (Index l = 0; l < W; ++l) equal |= static_cast<unsigned>(lanes[l] == least[0]) << l;
        scores[0] = least[0];
        ids[0] = id(__builtin_ctz(equal));
        return;
    }
    for (; below != 0; below &= below - 1) {
        const int lane = __builtin_ctz(below);
        if (lanes[lane] < scores[m - 1]) insert_sorted(scores, ids, m, lanes[lane], id(lane));
    }
}

}  // namespace
}  // namespace coterie
