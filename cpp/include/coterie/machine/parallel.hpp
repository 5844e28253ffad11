// Parallel loops. Only this file and threads.cpp use threads.
//
// Own threads rather than OpenMP (figures in docs/development/decisions.md): at the end of a loop OpenMP waits
// for every thread, including those that a busy machine has not scheduled; here the caller runs the remaining tasks
// itself and does not wait for threads that have not started. It also avoids a second OpenMP runtime in a process with
// other packages.
#pragma once

#include <new>

#include "coterie/machine/numbers.hpp"

namespace coterie {

// Calls work(context) on the calling thread and, at the same time, on up to n_threads - 1 others. Returns when all
// that began have returned; none begins later. Compiled once, in threads.cpp.
void run_on_threads(int n_threads, void (*work)(void*), void* context);

namespace {

// Calls body(task, scratch) for task = 0 .. n_tasks - 1 on at most n_threads threads; make_scratch() once per thread.
// Tasks are cut by data size, never by thread count, and must not write to each other's results:
// then results do not depend on the number of threads.
template <class MakeScratch, class Body>
void parallel_for(Index n_tasks, int n_threads, MakeScratch make_scratch, Body body) {
    struct Loop {
        Index next, n_tasks;
        MakeScratch& make_scratch;
        Body& body;
        bool is_out_of_memory;

        // Exceptions must not leave a thread of the pool: failed allocations are passed to the caller.
        static void work(void* context) {
            Loop& loop = *static_cast<Loop*>(context);
            try {
                loop.do_tasks();
            } catch (const std::bad_alloc&) {
                __atomic_store_n(&loop.is_out_of_memory, true, __ATOMIC_RELAXED);
                __atomic_store_n(&loop.next, loop.n_tasks, __ATOMIC_RELAXED);
            }
        }

        void do_tasks() {
            Index task = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
            if (task >= n_tasks) return;
            auto scratch = make_scratch();
            for (; task < n_tasks; task = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) body(task, scratch);
        }
    };
    Loop loop{0, n_tasks, make_scratch, body, false};
    if (n_threads > n_tasks) n_threads = static_cast<int>(n_tasks);
    if (n_threads <= 1) Loop::work(&loop);
    else run_on_threads(n_threads, Loop::work, &loop);
    if (loop.is_out_of_memory) throw std::bad_alloc();
}

struct NoScratch {};

template <class Body>
void parallel_for(Index n_tasks, int n_threads, Body body) {
    parallel_for(
        n_tasks, n_threads, [] { return NoScratch{}; }, [&](Index task, NoScratch&) { body(task); });
}

// Rows per parallel task: about budget bytes of dense rows, and few enough for a dozen tasks where rows are few. Cut by
// the shape alone. A multiple of every tile height.
template <class T>
Index rows_per_chunk(Index n_rows, Index d, Index budget, Index most) {
    const Index rows = budget / (d * static_cast<Index>(sizeof(T))) / 48 * 48;
    return max_index(96, min_index(rows, min_index(most, n_rows / 12 / 48 * 48)));
}

}  // namespace
}  // namespace coterie
