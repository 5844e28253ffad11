// Communities of a graph by the Leiden algorithm (Traag, Waltman and van Eck 2019), deterministic on any number of
// threads: nodes of a batch look for their best community at the same time, and move one after the other.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "coterie/machine/parallel.hpp"
#include "coterie/multilevel/node_moves.hpp"

namespace coterie {

// A graph whose nodes have masses: a community gains `rate` times the product of the masses of two nodes less than the
// weight between them. Modularity: masses are degrees, the rate is resolution / volume. Constant Potts model: numbers of
// vertices, and the resolution.
struct Level {
    const Index* starts;          // n_nodes + 1
    const std::int32_t* columns;  // never the node itself
    const double* weights;        // above 0
    const double* masses;         // n_nodes
    Index n_nodes;
};

using Labels = std::vector<std::int32_t>;

// Sums of edge weights by community, all 0 between uses.
class Links {
   public:
    explicit Links(Index n) : sums_(static_cast<std::size_t>(n), 0.0), touched_(static_cast<std::size_t>(n) + 1) {}

    void add(std::int32_t community, double weight) {
        double& sum = sums_[community];
        touched_[n_touched_] = community;  // kept if it is new: no branch
        n_touched_ += !(sum > 0);
        sum += weight;
    }
    double operator[](std::int32_t community) const { return sums_[community]; }
    std::span<const std::int32_t> touched() const { return {touched_.data(), n_touched_}; }
    void clear() {
        for (const std::int32_t community : touched()) sums_[community] = 0;
        n_touched_ = 0;
    }

   private:
    std::vector<double> sums_;
    Labels touched_;
    std::size_t n_touched_ = 0;
};

class Leiden {
   public:
    // The order in which nodes move is drawn from `seed`.
    Leiden(double rate, double least_rise, std::uint64_t seed, int n_threads)
        : rate_(rate), least_rise_(least_rise), state_(seed), n_threads_(n_threads) {}

    // One iteration on all levels, whose nodes are communities (Blondel et al. 2008) or well connected parts of these.
    // Where moves raise the objective by at most `least` of the weight between communities, it ends on the first level,
    // with false, and has communities above others. IN/OUT labels (n_nodes), from 0 to n_nodes - 1.
    bool improve(const Level& graph, bool parts, double least, Labels& labels) {
        for (int thread = 0; thread < n_threads_; ++thread) links_.emplace_back(graph.n_nodes);
        const Labels order = drawn_order(graph.n_nodes);
        Coarse coarse = reordered(graph, order);
        Labels found(labels.size());
        for (std::size_t i = 0; i < found.size(); ++i) found[i] = labels[order[i]];
        std::swap(labels, found);
        Labels nodes(labels.size());  // of the last level
        std::iota(nodes.begin(), nodes.end(), 0);
        Level level = coarse.view();
        double between = 0;
        for (Index i = 0; i < level.n_nodes; ++i)
            for (Index e = level.starts[i]; e < level.starts[i + 1]; ++e)
                if (labels[level.columns[e]] != labels[i]) between += level.weights[e];
        bool goes_on;
        for (bool is_first = true;; is_first = false) {
            const double enough = is_first && !parts ? between / 2 : std::numeric_limits<double>::infinity();
            const bool rises = move_nodes(level, enough, labels) > least * between;
            goes_on = rises || !is_first;
            if (!goes_on) break;
            auto [above, n_communities] = numbered(labels);
            auto [names, n_coarse] = numbered(parts && rises ? refine(level, above, n_communities) : above);
            if (n_coarse == level.n_nodes) break;
            labels.resize(static_cast<std::size_t>(n_coarse));
            for (Index i = 0; i < level.n_nodes; ++i) labels[names[i]] = above[i];
            coarse = aggregated(level, names, n_coarse);
            level = coarse.view();
            for (std::int32_t& node : nodes) node = names[node];
        }
        for (std::size_t i = 0; i < found.size(); ++i) found[order[i]] = labels[nodes[i]];
        links_.clear();
        labels = numbered(found).first;
        return goes_on;
    }

   private:
    static constexpr Index kFewest = 64, kBatches = 128;  // nodes of a batch, and batches of all nodes
    static constexpr Index kChunk = 64, kCoarse = 256;  // nodes and coarse nodes of a task

    struct Node {
        float slack;         // weight of its edges that may change before it gains by a move; below 0: it waits
        std::int32_t batch;  // the last one in which a neighbor has moved
    };

    struct Move {
        std::int32_t to;  // kAlone: to a community of its own
        float slack;
        double link, own_link;
    };
    static constexpr std::int32_t kAlone = -1;

    // A graph of parts of another one.
    struct Coarse {
        std::vector<Index> starts;
        Labels columns;
        std::vector<double> weights, masses;

        Level view() const {
            return {starts.data(), columns.data(), weights.data(), masses.data(), static_cast<Index>(masses.size())};
        }
    };

    // The next number of SplitMix64.
    std::uint64_t drawn() {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
        return z ^ (z >> 31);
    }

    // The nodes in a random order, in which they move and are stored; those of the next levels follow it.
    Labels drawn_order(Index n) {
        Labels order(static_cast<std::size_t>(n));
        for (Index i = 0; i < n; ++i) {
            const std::size_t place = drawn() % static_cast<std::uint64_t>(i + 1);
            order[i] = order[place];
            order[place] = static_cast<std::int32_t>(i);
        }
        return order;
    }

    Coarse reordered(const Level& graph, const Labels& order) {
        const std::size_t n = order.size(), n_ends = static_cast<std::size_t>(graph.starts[n]);
        Coarse found{std::vector<Index>(n + 1, 0), Labels(n_ends), std::vector<double>(n_ends), std::vector<double>(n)};
        Labels places(n);
        for (std::size_t i = 0; i < n; ++i) {
            places[order[i]] = static_cast<std::int32_t>(i);
            found.starts[i + 1] = found.starts[i] + graph.starts[order[i] + 1] - graph.starts[order[i]];
        }
        for_tasks((graph.n_nodes + kCoarse - 1) / kCoarse, [&](Index task, Links&) {
            for (Index i = task * kCoarse; i < min_index(graph.n_nodes, (task + 1) * kCoarse); ++i) {
                found.masses[i] = graph.masses[order[i]];
                Index end = found.starts[i];
                for (Index e = graph.starts[order[i]]; e < graph.starts[order[i] + 1]; ++e, ++end) {
                    found.columns[end] = places[graph.columns[e]];
                    found.weights[end] = graph.weights[e];
                }
            }
        });
        return found;
    }

    // Communities renumbered in the order of their first nodes, and their number.
    static std::pair<Labels, Index> numbered(const Labels& labels) {
        Labels names(labels.size(), -1), found(labels.size());
        std::int32_t n_found = 0;
        for (std::size_t i = 0; i < labels.size(); ++i) {
            if (names[labels[i]] < 0) names[labels[i]] = n_found++;
            found[i] = names[labels[i]];
        }
        return {std::move(found), n_found};
    }

    // The first of each label's nodes, and nodes by label.
    static std::pair<std::vector<Index>, Labels> grouped(const Labels& labels, Index n_labels) {
        std::vector<Index> starts(static_cast<std::size_t>(n_labels) + 2, 0);  // moved on by one while they are filled
        for (const std::int32_t label : labels) ++starts[label + 2];
        for (Index c = 0; c < n_labels; ++c) starts[c + 2] += starts[c + 1];
        Labels nodes(labels.size());
        for (std::size_t i = 0; i < labels.size(); ++i) nodes[starts[labels[i] + 1]++] = static_cast<std::int32_t>(i);
        return {std::move(starts), std::move(nodes)};
    }

    // Runs body(task, links) for all tasks, with sums of its thread.
    template <class Body>
    void for_tasks(Index n_tasks, Body body) {
        int n_taken = 0;
        const auto own = [&] { return &links_[__atomic_fetch_add(&n_taken, 1, __ATOMIC_RELAXED)]; };
        parallel_for(n_tasks, n_threads_, own, [&](Index task, Links* links) { body(task, *links); });
    }

    // Nodes whose edges are fetched ahead of their turn: they are not next to each other in memory.
    static constexpr Index kAhead = 6;

    static void fetch(const Level& level, std::int32_t node) {
        const Index e = level.starts[node];
        __builtin_prefetch(level.columns + e);
        __builtin_prefetch(level.weights + e);
        __builtin_prefetch(level.weights + e + 8);
    }

    Move best_move(const Level& level, const Labels& labels, const std::vector<double>& masses, const Labels& sizes,
                   Index i, Links& links) const {
        const std::int32_t own = labels[i];
        const double mass = level.masses[i];
        for (Index e = level.starts[i]; e < level.starts[i + 1]; ++e)
            links.add(labels[level.columns[e]], level.weights[e]);
        Move best{own, 0, links[own], links[own]};
        double highest = best.link - rate_ * mass * (masses[own] - mass) + least_rise_;
        double second = 0;  // no community without an edge to it is better
        const auto look_at = [&](std::int32_t other, double link, double score) {
            second = std::max(second, std::min(score, highest));
            if (score > highest) highest = score, best.to = other, best.link = link;
        };
        for (const std::int32_t other : links.touched())
            if (other != own) look_at(other, links[other], links[other] - rate_ * mass * masses[other]);
        if (sizes[own] > 1) look_at(kAlone, 0, 0);
        best.slack = static_cast<float>(std::max(0.0, highest - second));
        links.clear();
        return best;
    }

    // Moves nodes to the best adjacent community, or to one of their own, until none gains by it, or `enough` weight of
    // edge ends got into communities. Nodes wait again if moves of their neighbors let them gain. Returns the rise.
    double move_nodes(const Level& level, double enough, Labels& labels) {
        const Index n = level.n_nodes;
        const std::size_t size = static_cast<std::size_t>(n);
        std::vector<double> masses(size, 0.0);
        Labels sizes(size, 0), empty;
        for (Index i = 0; i < n; ++i) masses[labels[i]] += level.masses[i], ++sizes[labels[i]];
        for (Index c = n; c-- > 0;)
            if (sizes[c] == 0) empty.push_back(static_cast<std::int32_t>(c));
        std::vector<Node> nodes(size, Node{-1, -1});
        Labels waiting(size);
        const Index batch_size = max_index(kFewest, n / kBatches);
        std::vector<Move> moves(static_cast<std::size_t>(batch_size));
        double rise = 0, inside = 0;
        for (std::int32_t batch = 0;;) {
            Index n_waiting = 0;
            for (Index i = 0; i < n; ++i) {
                waiting[n_waiting] = static_cast<std::int32_t>(i);
                n_waiting += nodes[i].slack < 0;
            }
            if (n_waiting == 0 || inside > enough) return rise;
            for (Index first = 0; first < n_waiting; first += batch_size, ++batch) {
                const Index count = min_index(batch_size, n_waiting - first);
                const std::int32_t* some = waiting.data() + first;
                for_tasks((count + kChunk - 1) / kChunk, [&](Index task, Links& links) {
                    for (Index k = task * kChunk; k < min_index(count, (task + 1) * kChunk); ++k) {
                        if (k + kAhead < count) fetch(level, some[k + kAhead]);
                        moves[k] = best_move(level, labels, masses, sizes, some[k], links);
                    }
                });
                for (Index k = 0; k < count; ++k) {
                    const std::int32_t i = some[k], own = labels[i];
                    const double mass = level.masses[i];
                    Move move = moves[k];
                    // What was found may be out of date, because others have moved since.
                    if (nodes[i].batch == batch || (move.to != own && !still_gains(move, masses, own, mass)))
                        move = best_move(level, labels, masses, sizes, i, links_[0]);
                    nodes[i].slack = move.slack;
                    if (move.to == own) continue;
                    if (move.to == kAlone) {
                        if (sizes[own] == 1) continue;
                        move.to = empty.back();
                        empty.pop_back();
                    }
                    rise += 2 * (move.link - move.own_link - rate_ * mass * (masses[move.to] - masses[own] + mass));
                    inside += 2 * (move.link - move.own_link);
                    masses[own] -= mass;
                    masses[move.to] += mass;
                    if (--sizes[own] == 0) masses[own] = 0, empty.push_back(own);
                    ++sizes[move.to];
                    labels[i] = move.to;
                    for (Index e = level.starts[i]; e < level.starts[i + 1]; ++e) {
                        Node& other = nodes[level.columns[e]];
                        const std::int32_t label = labels[level.columns[e]];
                        const float weight = static_cast<float>(level.weights[e]);
                        other.batch = batch;
                        if (other.slack >= 0) other.slack += weight * (label == move.to ? 1 : label == own ? -2 : -1);
                    }
                }
            }
        }
    }

    bool still_gains(const Move& move, const std::vector<double>& masses, std::int32_t own, double mass) const {
        const double stay = move.own_link - rate_ * mass * (masses[own] - mass) + least_rise_;
        if (move.to == kAlone) return stay < 0;
        return masses[move.to] > 0 && move.link - rate_ * mass * masses[move.to] > stay;
    }

    // Splits each community into well connected parts: single nodes join, in their order, the part of their community
    // that gains most, where they and the part are connected well with the rest of it. Returns a node of its part for
    // each node.
    Labels refine(const Level& level, const Labels& labels, Index n_communities) {
        const Index n = level.n_nodes;
        const std::size_t size = static_cast<std::size_t>(n);
        const auto [starts, members] = grouped(labels, n_communities);
        Labels parts(size), sizes(size, 1);
        std::vector<double> masses(level.masses, level.masses + n), outward(size);
        for_tasks(n_communities, [&](Index c, Links& links) {
            double whole = 0;
            for (Index m = starts[c]; m < starts[c + 1]; ++m) {
                const std::int32_t i = members[m];
                if (m + kAhead < n) fetch(level, members[m + kAhead]);
                parts[i] = i;
                whole += level.masses[i];
                double inside = 0;
                for (Index e = level.starts[i]; e < level.starts[i + 1]; ++e)
                    if (labels[level.columns[e]] == c) inside += level.weights[e];
                outward[i] = inside;
            }
            const auto is_connected = [&](std::int32_t part) {
                return outward[part] >= rate_ * masses[part] * (whole - masses[part]) - least_rise_;
            };
            for (Index m = starts[c]; m < starts[c + 1]; ++m) {
                const std::int32_t i = members[m];
                if (m + kAhead < n) fetch(level, members[m + kAhead]);
                if (sizes[i] != 1 || parts[i] != i || !is_connected(i)) continue;
                for (Index e = level.starts[i]; e < level.starts[i + 1]; ++e)
                    if (labels[level.columns[e]] == c) links.add(parts[level.columns[e]], level.weights[e]);
                std::int32_t best = i;
                double highest = least_rise_;
                for (const std::int32_t part : links.touched()) {
                    if (part == i || !is_connected(part)) continue;
                    const double rise = links[part] - rate_ * level.masses[i] * masses[part];
                    if (rise > highest) highest = rise, best = part;
                }
                if (best != i) {
                    parts[i] = best;
                    outward[best] += outward[i] - 2 * links[best];
                    masses[best] += level.masses[i];
                    ++sizes[best];
                }
                links.clear();
            }
        });
        return parts;
    }

    // The graph whose nodes are some parts of this one.
    Coarse aggregated(const Level& level, const Labels& names, Index n_coarse) {
        const Index n = level.n_nodes, n_tasks = (n_coarse + kCoarse - 1) / kCoarse;
        const std::size_t size = static_cast<std::size_t>(n_coarse);
        Coarse coarse{std::vector<Index>(size + 1, 0), {}, {}, std::vector<double>(size, 0.0)};
        const auto [starts, members] = grouped(names, n_coarse);
        for (Index i = 0; i < n; ++i) coarse.masses[names[i]] += level.masses[i];
        std::vector<Coarse> found(static_cast<std::size_t>(n_tasks));
        for_tasks(n_tasks, [&](Index task, Links& links) {
            for (Index c = task * kCoarse; c < min_index(n_coarse, (task + 1) * kCoarse); ++c) {
                for (Index m = starts[c]; m < starts[c + 1]; ++m) {
                    if (m + kAhead < n) fetch(level, members[m + kAhead]);
                    for (Index e = level.starts[members[m]]; e < level.starts[members[m] + 1]; ++e)
                        if (names[level.columns[e]] != c) links.add(names[level.columns[e]], level.weights[e]);
                }
                for (const std::int32_t other : links.touched()) {
                    found[task].columns.push_back(other);
                    found[task].weights.push_back(links[other]);
                }
                coarse.starts[c + 1] = static_cast<Index>(links.touched().size());
                links.clear();
            }
        });
        for (std::size_t c = 0; c < size; ++c) coarse.starts[c + 1] += coarse.starts[c];
        for (const Coarse& edges : found) {
            coarse.columns.insert(coarse.columns.end(), edges.columns.begin(), edges.columns.end());
            coarse.weights.insert(coarse.weights.end(), edges.weights.begin(), edges.weights.end());
        }
        return coarse;
    }

    double rate_, least_rise_;
    std::uint64_t state_;
    int n_threads_;
    std::vector<Links> links_;
};

}  // namespace coterie
