// Which components are neighbours, learnt from the rows that share a best component.
#pragma once

#include "coterie/centers/sorted_lists.hpp"
#include "coterie/machine/marks.hpp"

namespace coterie {
namespace {

// Energies of components, added up over rows.
struct Tally {
    explicit Tally(Index n_components) : met(n_components), sums(n_components), counts(n_components) {}

    void add(std::int32_t id, double sum, Index count) {
        bool is_new;
        const Index at = met.add(id, is_new);
        sums[at] = (is_new ? 0 : sums[at]) + sum;
        counts[at] = (is_new ? 0 : counts[at]) + count;
    }

    Marks met;
    Buffer<double> sums;
    Buffer<Index> counts;
};

// What one of several pieces of a group found out about a component.
struct Finding {
    double sum;
    Index count;
    std::int32_t id;
};

struct Findings {
    Finding* entries;
    Index size;
};

inline Findings findings_of(const Tally& tally) {
    Finding* entries = new Finding[tally.met.size];
    for (Index i = 0; i < tally.met.size; ++i) entries[i] = {tally.sums[i], tally.counts[i], tally.met.ids[i]};
    return {entries, tally.met.size};
}

// The components that are the best ones on average for the rows that share a best component.
// IN tally, self, former (n_neighbors); OUT neighbors (n_neighbors), of which the first is the component itself.
inline void choose_neighbors(const Tally& tally, std::int32_t self, Index n_neighbors, const std::int32_t* former,
                             double* means, std::int32_t* neighbors) {
    const Index n_others = n_neighbors - 1;
    neighbors[0] = self;
    if (n_others == 0) return;
    std::int32_t* const chosen = neighbors + 1;
    for (Index k = 0; k < n_others; ++k) {
        means[k] = infinity<double>();
        chosen[k] = -1;
    }
    for (Index i = 0; i < tally.met.size; ++i) {
        const double mean = tally.sums[i] / static_cast<double>(tally.counts[i]);
        if (mean < means[n_others - 1] && tally.met.ids[i] != self)
            insert_sorted(means, chosen, n_others, mean, tally.met.ids[i]);
    }
    Index n_new = 0;
    while (n_new < n_others && chosen[n_new] >= 0) ++n_new;
    // Too few are known: former neighbours fill up.
    for (Index k = 1; k < n_neighbors && n_new < n_others; ++k) {
        bool again = false;
        for (Index e = 0; e < n_new; ++e) again |= chosen[e] == former[k];
        if (!again) chosen[n_new++] = former[k];
    }
    for (; n_new < n_others; ++n_new) chosen[n_new] = self;
}

}  // namespace
}  // namespace coterie
