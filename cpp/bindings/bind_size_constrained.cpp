// The kernels of size constraints: argument checks, then the kernel without the interpreter's lock.
#include <limits>

#include "blocks.hpp"
#include "coterie/size_constrained/laplacian.hpp"
#include "coterie/size_constrained/moves.hpp"
#include "dispatch.hpp"

namespace coterie {
namespace {

template <class T>
void price_lists_of(In2<std::int32_t> ids, In2<T> scores, In1<double> prices, Out1<std::int32_t> labels,
                    Out1<double> values, Out1<std::int32_t> seconds, Out1<double> margins, int n_threads) {
    const Index n = static_cast<Index>(ids.shape(0)), m = static_cast<Index>(ids.shape(1));
    require(m >= 1, "no centers are listed");
    require_size(scores, n * m, "scores has the wrong shape");
    require_between(ids, 0, static_cast<Index>(prices.shape(0)), "a listed center is out of range");
    require_size(labels, n, "one label per row is needed");
    require_size(values, n, "one value per row is needed");
    require_size(seconds, n, "one second label per row is needed");
    require_size(margins, n, "one margin per row is needed");
    kernels().of<T>().price_lists(ids.data(), scores.data(), n, m, prices.data(), labels.data(), values.data(),
                                  seconds.data(), margins.data(), n_threads);
}

template <class T>
int move_rows(In2<std::int32_t> ids, In2<T> scores, std::optional<In1<double>> weights, In1<std::int64_t> rows,
              Out1<std::int32_t> labels, Out1<double> prices, Out1<double> sizes, Out1<double> held,
              double least, double most, double grain, double place, double band, In1<std::uint8_t> is_far,
              Index most_paths) {
    const Index n = static_cast<Index>(ids.shape(0)), m = static_cast<Index>(ids.shape(1));
    const Index k = static_cast<Index>(sizes.size());
    require_size(scores, n * m, "scores has the wrong shape");
    require_between(ids, 0, k, "a listed center is out of range");
    if (weights) require_size(*weights, n, "one weight per row is needed");
    require_between(rows, 0, n, "there is no such row");
    require_size(labels, n, "one label per row is needed");
    require_between(labels, 0, k, "a label is out of range");
    require_size(prices, k + 1, "one price per cluster and one for the slack is needed");
    require_size(held, k, "one size per cluster is needed");
    require_size(is_far, k, "one mark per cluster is needed");
    Places places{prices.data(), sizes.data(), held.data(), k, least, most, grain, place};
    const ListedRows<T> lists{ids.data(), scores.data(), m, data_or_null(weights)};
    RowMoves<T> moves(lists, rows.data(), static_cast<Index>(rows.size()), band, is_far.data(), places,
                      labels.data());
    return static_cast<int>(moves.run(most_paths));
}

int add_pairs_of(In1<std::int32_t> heads, In1<std::int32_t> tails, std::optional<In1<double>> weights,
                 Out1<std::int32_t> starts, Out1<std::int32_t> ends, Out1<double> sums) {
    const Index n_pairs = static_cast<Index>(heads.size()), n = static_cast<Index>(starts.size()) - 1;
    require(n >= 0, "starts is empty");
    require(n_pairs <= std::numeric_limits<std::int32_t>::max() / 2, "there are too many pairs");
    require_size(tails, n_pairs, "one tail per head is needed");
    require_between(heads, 0, n, "a head is out of range");
    require_between(tails, 0, n, "a tail is out of range");
    if (weights) require_size(*weights, n_pairs, "one weight per pair is needed");
    require_size(ends, 2 * n_pairs, "there must be room for both directions of each pair");
    require_size(sums, 2 * n_pairs, "there must be room for both directions of each pair");
    return add_pairs(heads.data(), tails.data(), data_or_null(weights), n_pairs, n, starts.data(), ends.data(),
                     sums.data());
}

void solve_laplacian_of(In1<std::int32_t> starts, In1<std::int32_t> ends, In1<double> weights, In1<double> diagonal,
                        In1<std::uint8_t> is_free, In1<double> right, double part, Index most_products,
                        Out1<double> solution) {
    const Index n = static_cast<Index>(diagonal.size());
    require_size(starts, n + 1, "one start per row and one more is needed");
    require_starts(starts);
    require_size(ends, starts.data()[n], "there must be as many ends as starts say");
    require_between(ends, 0, n, "an end is out of range");
    require_size(weights, starts.data()[n], "one weight per end is needed");
    require_size(is_free, n, "one mark per row is needed");
    require_size(right, n, "one right side per row is needed");
    require_size(solution, n, "one solution per row is needed");
    solve_laplacian({starts.data(), ends.data(), weights.data(), diagonal.data(), n}, is_free.data(), right.data(), part,
                    most_products, solution.data());
}

template <class T>
void bind_lists(nb::module_& m) {
    m.def("price_lists", &price_lists_of<T>, arg("ids"), arg("scores").noconvert(), arg("prices"), arg("labels"),
          arg("values"), arg("seconds"), arg("margins"), arg("n_threads"), Unlocked());

    m.def("move_rows", &move_rows<T>, arg("ids"), arg("scores").noconvert(), arg("weights").none(), arg("rows"),
          arg("labels"), arg("prices"), arg("sizes"), arg("held"), arg("least"), arg("most"), arg("grain"),
          arg("place"), arg("band"), arg("is_far"), arg("most_paths"), Unlocked());
}

}  // namespace

void bind_size_constrained(nb::module_& m) {
    bind_lists<float>(m);
    bind_lists<double>(m);
    m.def("add_pairs", &add_pairs_of, arg("heads"), arg("tails"), arg("weights").none(), arg("starts"), arg("ends"),
          arg("sums"), Unlocked());
    m.def("solve_laplacian", &solve_laplacian_of, arg("starts"), arg("ends"), arg("weights"), arg("diagonal"),
          arg("is_free"), arg("right"), arg("part"), arg("most_products"), arg("solution"), Unlocked());
}

}  // namespace coterie
