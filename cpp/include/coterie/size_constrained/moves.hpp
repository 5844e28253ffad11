// Moves single rows between clusters until all sizes are within their bounds, each along a shortest path.
#pragma once

#include <algorithm>
#include <cstdint>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "coterie/machine/numbers.hpp"

namespace coterie {

// Clusters 0 .. n_clusters - 1, and one more node for the slack of the bounds: an arc leads to it from each cluster
// with more than `least`, and from it to each cluster with less than `most`.
struct Places {
    double* prices;  // IN/OUT (n_clusters + 1)
    double* sizes;   // IN/OUT (n_clusters): the weight of the rows in each
    double* held;    // IN/OUT (n_clusters): target weight of each, between least and most
    Index n_clusters;
    double least, most;
    double grain;  // 0 if all rows weigh 1, else half of the largest weight: the accuracy of sizes
    double place;  // slack must remain for a row of this weight
};

template <class T>
struct ListedRows {
    const std::int32_t* ids;  // n x n_listed
    const T* scores;
    Index n_listed;
    const double* weights;  // nullptr: 1
};

enum class Moved { all, to_the_band, to_the_limit };

// The arc from one cluster to another is the row with the least cost of that move. The reduced costs of all rows of an
// arc change equally with the dual variables, so they remain sorted, and a row that has moved is dropped when it comes
// first.
template <class T>
class RowMoves {
public:
    // rows: those that may have an arc with a reduced cost within the band, or from or to a far cluster, whose arcs may
    // cost more; no others are moved. With far clusters, paths may be longer than the band, and other rows may have
    // negative reduced costs in the end.
    RowMoves(const ListedRows<T>& lists, const std::int64_t* rows, Index n_rows, double band,
             const std::uint8_t* is_far, Places& places, std::int32_t* labels)
        : lists_(lists), places_(places), labels_(labels), is_far_(is_far), k_(places.n_clusters), band_(band),
          out_(k_), excess_(k_ + 1), risen_(k_ + 1, 0.0), lengths_(k_ + 1, infinity<double>()), before_(k_ + 1),
          by_(k_ + 1), is_settled_(k_ + 1, 0) {
        has_far_ = std::any_of(is_far, is_far + k_, [](std::uint8_t is) { return is != 0; });
        for (Index r = 0; r < n_rows; ++r) add_arcs(rows[r], band);
        for (Arc& arc : arcs_) {
            std::make_heap(arc.rows.begin(), arc.rows.end(), later);
            refresh(arc);
        }
        is_built_ = true;
        for (Index c = 0; c < k_; ++c) {
            excess_[c] = places.sizes[c] - places.held[c];
            excess_[k_] -= excess_[c];
            grain_ = std::max(grain_, places.sizes[c]);
        }
        grain_ = std::max(places.grain, 1e-9 * std::max(grain_, 1.0));
    }

    Moved run(Index most_paths) {
        for (bool any = true; any;) {
            any = false;
            for (Index source = 0; source <= k_; ++source)
                while (is_source(source)) {
                    if (most_paths == 0) return Moved::to_the_limit;
                    if (!move_from(source)) break;
                    --most_paths;
                    any = true;
                }
        }
        for (Index source = 0; source <= k_; ++source)
            if (is_source(source)) return Moved::to_the_band;
        return Moved::all;
    }

private:
    struct Row {
        double cost;  // score there minus score here
        Index row;
    };
    struct Arc {
        Index from, place;      // among those that leave a cluster
        std::vector<Row> rows;  // a heap
    };
    // Data of the path search, contiguous in memory.
    struct Way {
        double cost;  // of the cheapest row, infinite if there is none
        std::int32_t to, arc;
    };
    using Reached = std::pair<double, Index>;

    static bool later(const Row& a, const Row& b) { return a.cost != b.cost ? a.cost > b.cost : a.row > b.row; }

    double weight(Index row) const { return lists_.weights == nullptr ? 1.0 : lists_.weights[row]; }

    // --- sources and targets -------------------------------------------------------------------------------------

    bool any_sink() const {
        return std::any_of(excess_.begin(), excess_.end() - 1, [this](double e) { return e < -grain_; });
    }

    // With different weights, the slack node is only the other end.
    bool is_source(Index v) const {
        if (v == k_ && places_.grain > 0) return any_sink();
        return excess_[v] > grain_ && (places_.grain == 0 || v < k_);
    }

    bool is_sink(Index v, bool any) const {
        if (v == k_ && places_.grain > 0) return !any;
        return excess_[v] < -grain_;
    }

    bool gives(Index c) const { return places_.held[c] + places_.place <= places_.most + places_.grain; }
    bool takes(Index c) const { return places_.held[c] - places_.place >= places_.least - places_.grain; }

    // --- arcs ----------------------------------------------------------------------------------------------------

    // Adds a row to the arcs that leave its cluster and cost no more than the band, or are those of far clusters.
    void add_arcs(Index row, double band) {
        if (weight(row) <= 0) return;
        const std::int32_t* ids = lists_.ids + row * lists_.n_listed;
        const T* scores = lists_.scores + row * lists_.n_listed;
        const Index from = labels_[row];
        const Index place = std::find(ids, ids + lists_.n_listed, labels_[row]) - ids;
        if (place == lists_.n_listed) return;
        const double own = static_cast<double>(scores[place]);
        for (Index e = 0; e < lists_.n_listed; ++e) {
            const double cost = static_cast<double>(scores[e]) - own;
            if (e == place) continue;
            const bool is_near = cost + places_.prices[ids[e]] - places_.prices[from] <= band;
            if (!is_near && !is_far_[from] && !is_far_[ids[e]]) continue;
            Arc& way = arc(from, ids[e]);
            way.rows.push_back({cost, row});
            if (!is_built_) continue;
            std::push_heap(way.rows.begin(), way.rows.end(), later);
            refresh(way);
        }
    }

    Arc& arc(Index from, Index to) {
        const auto [found, is_new] = numbers_.try_emplace(from * k_ + to, static_cast<Index>(arcs_.size()));
        if (is_new) {
            arcs_.push_back({from, static_cast<Index>(out_[from].size()), {}});
            out_[from].push_back(
                {infinity<double>(), static_cast<std::int32_t>(to), static_cast<std::int32_t>(found->second)});
        }
        return arcs_[found->second];
    }

    // Drops rows that have moved, until the cheapest one has not.
    void refresh(Arc& arc) {
        while (!arc.rows.empty() && labels_[arc.rows.front().row] != arc.from) {
            std::pop_heap(arc.rows.begin(), arc.rows.end(), later);
            arc.rows.pop_back();
        }
        out_[arc.from][arc.place].cost = arc.rows.empty() ? infinity<double>() : arc.rows.front().cost;
    }

    // Updates the arcs of a row that has left a cluster.
    void replace_arcs(Index row, Index from) {
        const std::int32_t* ids = lists_.ids + row * lists_.n_listed;
        for (Index e = 0; e < lists_.n_listed; ++e)
            if (const auto found = numbers_.find(from * k_ + ids[e]); found != numbers_.end())
                refresh(arcs_[found->second]);
        add_arcs(row, infinity<double>());
    }

    // --- paths ---------------------------------------------------------------------------------------------------

    // Moves a row along each arc of the shortest path to a cluster with too little weight, if there is one.
    bool move_from(Index source) {
        const Index sink = nearest_sink(source);
        if (sink >= 0) {
            raise_prices(lengths_[sink]);
            move_along(source, sink);
        }
        for (Index v : reached_) {
            lengths_[v] = infinity<double>();
            is_settled_[v] = 0;
        }
        return sink >= 0;
    }

    Index nearest_sink(Index source) {
        // Other rows cost more than the band, minus the increase of the dual variables since.
        const double most = has_far_ ? infinity<double>() : band_ - most_risen_;
        const bool any = any_sink();
        reached_.assign(1, source);
        settled_.clear();
        lengths_[source] = 0;
        std::priority_queue<Reached, std::vector<Reached>, std::greater<Reached>> queue;
        queue.push({0.0, source});
        while (!queue.empty()) {
            const auto [length, v] = queue.top();
            queue.pop();
            if (is_settled_[v]) continue;
            is_settled_[v] = 1;
            settled_.push_back(v);
            if (v != source && is_sink(v, any)) return v;
            const auto reach = [&, length = length, v = v](Index to, double cost, Index by) {
                // Rounding must not make a cost negative.
                const double there = length + std::max(cost + places_.prices[to] - places_.prices[v], 0.0);
                if (!(there < lengths_[to]) || !(there <= most)) return;
                if (lengths_[to] == infinity<double>()) reached_.push_back(to);
                lengths_[to] = there;
                before_[to] = v;
                by_[to] = by;
                queue.push({there, to});
            };
            if (v == k_) {
                for (Index c = 0; c < k_; ++c)
                    if (takes(c)) reach(c, 0.0, -1);
                continue;
            }
            for (const Way& way : out_[v]) reach(way.to, way.cost, way.arc);
            if (gives(v)) reach(k_, 0.0, -1);
        }
        return -1;
    }

    // Updates the dual variables: arcs of the path get a reduced cost of 0, and none is negative.
    void raise_prices(double length) {
        for (Index v : settled_) {
            const double more = length - lengths_[v];
            places_.prices[v] += more;
            risen_[v] += more;
            most_risen_ = std::max(most_risen_, risen_[v]);
        }
    }

    void move_along(Index source, Index sink) {
        path_.clear();
        for (Index v = sink; v != source; v = before_[v]) path_.push_back(v);
        std::reverse(path_.begin(), path_.end());
        double first = places_.place;
        for (Index v : path_)
            if (by_[v] >= 0) {
                first = weight(arcs_[by_[v]].rows.front().row);
                break;
            }
        for (Index v : path_) {
            const Index from = before_[v];
            double amount = first;
            if (by_[v] < 0) {
                places_.held[from == k_ ? v : from] += from == k_ ? -amount : amount;
            } else {
                const Index row = arcs_[by_[v]].rows.front().row;
                amount = weight(row);
                labels_[row] = static_cast<std::int32_t>(v);
                places_.sizes[from] -= amount;
                places_.sizes[v] += amount;
                moved_.push_back({row, from});
            }
            excess_[from] -= amount;
            excess_[v] += amount;
        }
        // After all of them have moved, as this changes the cheapest rows.
        for (const auto& [row, from] : moved_) replace_arcs(row, from);
        moved_.clear();
    }

    ListedRows<T> lists_;
    Places& places_;
    std::int32_t* labels_;
    const std::uint8_t* is_far_;
    Index k_;
    double band_, grain_ = 0.0, most_risen_ = 0.0;
    bool is_built_ = false, has_far_ = false;
    std::vector<Arc> arcs_;
    std::unordered_map<Index, Index> numbers_;
    std::vector<std::vector<Way>> out_;
    std::vector<double> excess_, risen_, lengths_;
    std::vector<Index> before_, by_, reached_, settled_, path_;
    std::vector<std::pair<Index, Index>> moved_;  // rows, and their former clusters
    std::vector<char> is_settled_;
};

}  // namespace coterie
