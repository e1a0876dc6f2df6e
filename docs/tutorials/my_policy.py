"""A policy of the simulator: the narrowest job first, on anybody's GPUs."""

from instances.sia.online import Start


class Narrowest:
    def decide(self, view):
        left, starts = view.idle, []
        waiting = [job for queue in view.queues.values() for job in queue.values()]
        for job in sorted(waiting, key=lambda job: (job.gpus, job.id)):
            if job.gpus <= left:
                left -= job.gpus
                starts.append(job.id)
        return Start(starts)


def make(data):
    return Narrowest()
