/* Threads that share a counter by a mutex, wait for a condition, and have variables of their own. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static _Thread_local int own = 5;
static int counter, started, results[3];

static void *work(void *argument) {
    int number = *(int *)argument;
    own += number;
    pthread_mutex_lock(&lock);
    started++;
    pthread_cond_broadcast(&changed);
    while (started < 3) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(&lock);
        counter++;
        if (i % 50 == 0) own++;
        pthread_mutex_unlock(&lock);
    }
    results[number] = own;
    return &results[number];
}

int main(void) {
    pthread_t threads[3];
    int numbers[] = {0, 1, 2}, sum = 0;
    for (int i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, work, &numbers[i])) return 1;
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += *(int *)result;
    }
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec = (soon.tv_nsec + 1000000) % 1000000000;
    soon.tv_sec += soon.tv_nsec < 1000000;
    pthread_mutex_lock(&lock);
    int late = pthread_cond_timedwait(&changed, &lock, &soon);
    printf("%d %d %d %s\n", counter, sum, own, late == ETIMEDOUT ? "late" : "?");
    return 0;
}
