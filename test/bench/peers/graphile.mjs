// graphile-worker: sets it up, fills it, records its SQL, and lets its own worker run as its page on performance advises:
// 24 concurrent jobs, completions in batches, and a local queue of 500 where no queue_name asks for one job at a time, which
// a local queue would break.
import { Counter, fill, main, pool, require, write } from './peer.mjs';

const { Logger, makeWorkerUtils, run } = require('graphile-worker');
const logger = new Logger(() => () => {});

const worker = (kind, size) => ({
    concurrentJobs: 24,
    maxPoolSize: 25,
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    ...(kind === 'plain' ? { localQueue: { size } } : {}),
});

// Records a claim and a completion of a batch. With keys too, though it may then have several jobs of one: it is what this SQL
// does best.
async function record(directory, kind, batch) {
    const own = pool(10);
    const seen = {};
    own.on('connect', (client) => {
        const query = client.query;
        client.query = function (statement, ...rest) {
            const text = statement?.text ?? '';
            if (/for update\s+skip locked\s*\)/.test(text) && /attempts = jobs.attempts \+ 1/.test(text)) seen.claim = statement;
            if (/^\s*(with j as \(\s*)?delete from/.test(text) && /unnest/.test(text)) seen.complete = statement;
            return query.call(this, statement, ...rest);
        };
    });
    const utils = await makeWorkerUtils({ pgPool: own, logger });
    const add = (n) =>
        utils.addJobs(Array.from({ length: n }, (_, i) => ({ identifier: 'job', payload: {}, ...(kind === 'keyed' ? { queueName: `k${i}` } : {}) })));
    await add(10);
    const runner = await run({ pgPool: own, logger, taskList: { job: async () => {} }, preset: { worker: worker('plain', Number(batch)) } });
    while (!seen.claim || !seen.complete) {
        await add(10);
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await runner.stop();
    await own.query('TRUNCATE graphile_worker._private_jobs, graphile_worker._private_job_queues');
    write(`${directory}/claim.sql`, seen.claim, ['client']);
    write(`${directory}/complete.sql`, seen.complete, ['ids', 'client']);
}

await main({
    async setup() {
        await (await makeWorkerUtils({ pgPool: pool(1), logger })).migrate();
    },
    record,
    async fill(n, key) {
        const utils = await makeWorkerUtils({ pgPool: pool(1), logger });
        let id = 0;
        await fill(Number(n), key, (keys) =>
            utils.addJobs(keys.map((k) => ({ identifier: 'job', payload: { id: ++id, k }, ...(k === null ? {} : { queueName: k }) }))));
    },
    async work(kind, seconds, jobs) {
        const counter = new Counter(Number(seconds), Number(jobs));
        await run({ pgPool: pool(25), logger, taskList: { job: async () => counter.done(1) }, preset: { worker: worker(kind, 500) } });
        await counter.print();
    },
});
