/* As many threads as it is told, all there at once, each with a stack of 8 MB. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t all_there;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void *work(void *number)
{
    pthread_barrier_wait(&all_there);
    pthread_mutex_lock(&lock);
    sum += (long)number;
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(int count, char **arguments)
{
    int threads = atoi(arguments[1]);
    pthread_t *thread = malloc(threads * sizeof *thread);
    pthread_barrier_init(&all_there, 0, threads);
    for (int i = 0; i < threads; i++)
        if (pthread_create(thread + i, 0, work, (void *)(long)i)) {
            printf("thread %d does not begin\n", i);
            exit(1);
        }
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], 0);
    printf("%d threads, %ld\n", threads, sum);
    return 0;
}
