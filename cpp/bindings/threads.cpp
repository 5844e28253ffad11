// A pool of threads that sleep between loops.
#if !defined(_WIN32)
#include <pthread.h>
#endif

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "coterie/machine/parallel.hpp"

namespace coterie {
namespace {

class Pool {
   public:
    void run(int n_threads, void (*work)(void*), void* context) {
        // Another Python thread uses the pool: run on the calling thread rather than oversubscribe the processors.
        std::unique_lock<std::mutex> turn(turn_, std::try_to_lock);
        if (!turn.owns_lock()) return work(context);
        {
            std::lock_guard<std::mutex> lock(mutex_);
            while (n_helpers_ < n_threads - 1 && add_helper()) {}
            work_ = work;
            context_ = context;
            open_places_ = n_threads - 1;
            __atomic_fetch_add(&loop_, 1, __ATOMIC_RELEASE);
        }
        wake_.notify_all();
        work(context);
        std::unique_lock<std::mutex> lock(mutex_);
        open_places_ = 0;
        done_.wait(lock, [this] { return n_working_ == 0; });
    }

   private:
    // False if the system creates no more threads; the existing ones are used.
    bool add_helper() {
        try {
            std::thread([this] { help(); }).detach();
        } catch (const std::system_error&) {
            return false;
        }
        ++n_helpers_;
        return true;
    }

    void help() {
        unsigned long seen = 0;
        for (;;) {
            linger(seen);
            std::unique_lock<std::mutex> lock(mutex_);
            wake_.wait(lock, [&] { return loop_ != seen; });
            seen = loop_;
            if (open_places_ == 0) continue;
            --open_places_;
            ++n_working_;
            lock.unlock();
            work_(context_);
            lock.lock();
            if (--n_working_ == 0) done_.notify_one();
        }
    }

    // The next loop of a fit often follows within microseconds: spin for a short time before waiting.
    void linger(unsigned long seen) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
        while (__atomic_load_n(&loop_, __ATOMIC_ACQUIRE) == seen && std::chrono::steady_clock::now() < end)
            std::this_thread::yield();
    }

    std::mutex turn_, mutex_;
    std::condition_variable wake_, done_;
    unsigned long loop_ = 0;
    int n_helpers_ = 0, open_places_ = 0, n_working_ = 0;
    void (*work_)(void*) = nullptr;
    void* context_ = nullptr;
};

// Never destroyed, as its threads wait in it until the process ends. A forked child has no threads and gets a new pool.
Pool* pool = nullptr;

Pool& current_pool() {
    static std::once_flag once;
    std::call_once(once, [] {
        pool = new Pool;
#if !defined(_WIN32)
        pthread_atfork(nullptr, nullptr, [] { pool = new Pool; });
#endif
    });
    return *pool;
}

}  // namespace

void run_on_threads(int n_threads, void (*work)(void*), void* context) {
    current_pool().run(n_threads, work, context);
}

}  // namespace coterie
