"""Tasks whose models predict a label at every position of a row (aligned many-to-many).

Each file has the settings of a task, its vocabulary and its labels, and two functions. torch is imported when the first
batch is drawn, because forms and URLs need only the settings.

    batch(config, seed, order, step, size)       the training batch of a replica: the seed of its batches is `order`, a
                                                 step is counted from 0, `size` is the number of rows
    evaluate(config, model, replicas, whole)     metrics and answers by name; `whole` in the last evaluation
"""
