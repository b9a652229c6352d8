"""Create the schema.

Views, comments and privileges are not part of a revision; starcast.stores.database.migrations
writes them after an upgrade to the newest revision.
"""

from alembic import op
from alembic.util import CommandError

revision: str = "0009"
down_revision: str | None = None

SCHEMA = r"""
create table store (
    id uuid default gen_random_uuid() not null,
    created_at timestamptz default now() not null,
    constraint pk_store primary key (id)
);
create unique index ix_store_one_row on store ((true));
insert into store default values;

create table family (
    name text not null,
    noun text not null,
    constraint pk_family primary key (name)
);
insert into family values
    ('star', 'star graphs'), ('nk-star', '(n,k)-stars'), ('hypercube', 'hypercubes');

create table topology (
    spec text not null,
    family text not null,
    n smallint not null,
    k smallint,
    nodes bigint not null,
    links bigint not null,
    degree smallint not null,
    diameter smallint not null,
    constraint pk_topology primary key (spec),
    constraint ck_topology_counts check (nodes > 0 and links > 0 and degree > 0 and diameter > 0),
    constraint ck_topology_spec check (spec ~ '^[A-Z][A-Za-z_-]*[0-9]+([,x][0-9]+)*$'),
    constraint fk_topology_family foreign key (family) references family (name)
);

create table forest (
    id text not null,
    topology text not null,
    construction text not null,
    arguments jsonb default '{}'::jsonb not null,
    root bigint not null,
    root_label text not null,
    trees smallint not null,
    height smallint not null,
    congestion smallint not null,
    created_at timestamptz default now() not null,
    constraint pk_forest primary key (id),
    constraint ck_forest_counts check (root >= 0 and trees > 0 and height > 0 and congestion > 0),
    constraint ck_forest_id check (starts_with(id, topology || ':')),
    constraint ck_forest_construction check (construction ~ '^[a-z][a-z0-9-]*(\([^()]+\))?$'),
    constraint ck_forest_arguments check (jsonb_typeof(arguments) = 'object'),
    constraint fk_forest_topology foreign key (topology) references topology (spec)
);
create index ix_forest_topology on forest (topology);

create table tree (
    forest text not null,
    number smallint not null,
    height smallint not null,
    leaves bigint not null,
    size bigint not null,
    parent_port bytea not null,
    constraint pk_tree primary key (forest, number),
    constraint ck_tree_counts check (number >= 0 and height > 0 and leaves > 0 and size > 1),
    constraint fk_tree_forest foreign key (forest) references forest (id) on delete cascade
);

create table schedule (
    id text not null,
    topology text not null,
    forest text,
    collective text not null,
    algorithm text not null,
    ports text not null,
    arguments jsonb default '{}'::jsonb not null,
    root bigint not null,
    "symmetric" boolean not null,
    steps integer not null,
    transmissions bigint not null,
    largest_packet bigint not null,
    units bigint not null,
    constraint pk_schedule primary key (id),
    constraint ck_schedule_ports check (ports in ('all', 'one')),
    constraint ck_schedule_collective
        check (collective in ('broadcast', 'allgather', 'scatter', 'gather', 'alltoall')),
    constraint ck_schedule_counts
        check (steps > 0 and transmissions > 0 and largest_packet > 0 and units > 0),
    constraint ck_schedule_id check (starts_with(id, topology || ':')),
    constraint ck_schedule_algorithm check (algorithm ~ '^[a-z][a-z0-9-]*(\([^()]+\))?$'),
    constraint ck_schedule_arguments check (jsonb_typeof(arguments) = 'object'),
    constraint fk_schedule_topology foreign key (topology) references topology (spec),
    constraint fk_schedule_forest foreign key (forest) references forest (id)
);
create index ix_schedule_forest on schedule (forest);
create index ix_schedule_topology on schedule (topology);

create table schedule_step (
    schedule text not null,
    step integer not null,
    links_used bigint not null,
    packets bigint not null,
    largest_packet bigint not null,
    constraint pk_schedule_step primary key (schedule, step),
    constraint fk_schedule_step_schedule
        foreign key (schedule) references schedule (id) on delete cascade
);

create table materialization (
    kind text not null,
    id text not null,
    state text not null,
    method text not null,
    expected_nodes bigint not null,
    expected_relationships bigint not null,
    found_nodes bigint,
    found_relationships bigint,
    expected_checksum text not null,
    found_checksum text,
    plugins jsonb default '{}'::jsonb not null,
    error text,
    started_at timestamptz default now() not null,
    finished_at timestamptz,
    constraint pk_materialization primary key (kind, id),
    constraint ck_materialization_kind check (kind in ('topology', 'forest', 'schedule')),
    constraint ck_materialization_state
        check (state in ('planned', 'loading', 'complete', 'failed')),
    constraint ck_materialization_method check (method in ('bolt', 'import')),
    constraint ck_materialization_id
        check (split_part(id, ':', 1) ~ '^[A-Z][A-Za-z_-]*[0-9]+([,x][0-9]+)*$'),
    constraint ck_materialization_plugins check (jsonb_typeof(plugins) = 'object'),
    constraint ck_materialization_counts check (expected_nodes >= 0 and expected_relationships >= 0)
);
create index ix_materialization_topology on materialization (split_part(id, ':', 1));

create table experiment (
    id integer generated by default as identity,
    name text not null,
    grid jsonb default '{}'::jsonb not null,
    points integer,
    created_at timestamptz default now() not null,
    constraint pk_experiment primary key (id),
    constraint ck_experiment_name check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]*$'),
    constraint ck_experiment_grid check (jsonb_typeof(grid) = 'object'),
    constraint ck_experiment_points check (points > 0),
    constraint uq_experiment_name unique (name)
);

create table run (
    id bigint generated by default as identity,
    experiment integer not null,
    topology text not null,
    collective text not null,
    algorithm text not null,
    ports text not null,
    execution text default 'synchronous' not null,
    base text,
    message_bytes text not null,
    segments integer not null,
    messages integer not null,
    copies smallint default 1 not null,
    faults jsonb default '[]'::jsonb not null,
    seed bigint default 0 not null,
    t_s text not null,
    t_c text not null,
    missing bigint default 0 not null,
    status text not null,
    error text,
    timings jsonb default '{}'::jsonb not null,
    provenance jsonb default '{}'::jsonb not null,
    started_at timestamptz not null,
    finished_at timestamptz not null,
    message_bytes_value double precision generated always as (
        split_part(message_bytes, '/', 1)::float8
        / coalesce(nullif(split_part(message_bytes, '/', 2), ''), '1')::float8
    ) stored,
    t_s_value double precision generated always as (
        split_part(t_s, '/', 1)::float8
        / coalesce(nullif(split_part(t_s, '/', 2), ''), '1')::float8
    ) stored,
    t_c_value double precision generated always as (
        split_part(t_c, '/', 1)::float8
        / coalesce(nullif(split_part(t_c, '/', 2), ''), '1')::float8
    ) stored,
    constraint pk_run primary key (id),
    constraint ck_run_collective
        check (collective in ('broadcast', 'allgather', 'scatter', 'gather', 'alltoall')),
    constraint ck_run_ports check (ports in ('all', 'one')),
    constraint ck_run_execution check (execution in ('synchronous', 'asynchronous')),
    constraint ck_run_message_bytes check (message_bytes ~ '^\d+(/[1-9]\d*)?$'),
    constraint ck_run_faults check (jsonb_typeof(faults) = 'array'),
    constraint ck_run_t_s check (t_s ~ '^\d+(/[1-9]\d*)?$'),
    constraint ck_run_t_c check (t_c ~ '^\d+(/[1-9]\d*)?$'),
    constraint ck_run_counts
        check (segments >= 1 and messages >= 1 and copies >= 1 and seed >= 0 and missing >= 0),
    constraint ck_run_status check (status in ('complete', 'failed')),
    constraint ck_run_topology check (topology ~ '^[A-Z][A-Za-z_-]*[0-9]+([,x][0-9]+)*$'),
    constraint ck_run_algorithm check (algorithm ~ '^[a-z][a-z0-9-]*(\([^()]+\))?$'),
    constraint ck_run_timings check (jsonb_typeof(timings) = 'object'),
    constraint ck_run_provenance check (jsonb_typeof(provenance) = 'object'),
    constraint ck_run_error check ((status = 'failed') = (error is not null)),
    constraint uq_run_point
        unique nulls not distinct (experiment, topology, collective, algorithm, ports, execution,
        base, message_bytes, segments, messages, copies, faults, seed, t_s, t_c),
    constraint fk_run_experiment
        foreign key (experiment) references experiment (id) on delete cascade
);
create index ix_run_algorithm on run (algorithm, collective);
create index ix_run_question on run (topology, collective, message_bytes, ports);

create table cost (
    run bigint not null,
    kind text not null,
    steps bigint,
    start_ups text,
    transmissions bigint,
    bytes text,
    time text not null,
    source text not null,
    bytes_value double precision generated always as (
        split_part(bytes, '/', 1)::float8
        / coalesce(nullif(split_part(bytes, '/', 2), ''), '1')::float8
    ) stored,
    time_value double precision generated always as (
        split_part(time, '/', 1)::float8
        / coalesce(nullif(split_part(time, '/', 2), ''), '1')::float8
    ) stored,
    constraint pk_cost primary key (run, kind),
    constraint ck_cost_kind check (kind in ('closed form', 'simulated', 'lower bound')),
    constraint ck_cost_start_ups check (start_ups ~ '^\d+(/[1-9]\d*)?$'),
    constraint ck_cost_bytes check (bytes ~ '^\d+(/[1-9]\d*)?$'),
    constraint ck_cost_time check (time ~ '^\d+(/[1-9]\d*)?$'),
    constraint ck_cost_counts check (steps >= 0 and transmissions >= 0),
    constraint fk_cost_run foreign key (run) references run (id) on delete cascade
);

create table step_profile (
    run bigint not null,
    step integer not null,
    links_used bigint not null,
    packets bigint not null,
    largest_packet bigint not null,
    constraint pk_step_profile primary key (run, step),
    constraint fk_step_profile_run foreign key (run) references run (id) on delete cascade
);

create table claim_run (
    id integer generated by default as identity,
    names jsonb default '[]'::jsonb not null,
    level text,
    sizes jsonb,
    version text not null,
    revision text,
    dirty boolean,
    fingerprint text not null,
    started_at timestamptz default now() not null,
    finished_at timestamptz,
    constraint pk_claim_run primary key (id),
    constraint ck_claim_run_level check (level in ('quick', 'full', 'deep')),
    constraint ck_claim_run_sizes check ((level is null) = (sizes is not null)),
    constraint ck_claim_run_names check (jsonb_typeof(names) = 'array')
);
create index ix_claim_run_fingerprint on claim_run (fingerprint);

create table claim_evidence (
    claim_run integer not null,
    claim text not null,
    size text not null,
    evidence jsonb not null,
    seconds double precision not null,
    constraint pk_claim_evidence primary key (claim_run, claim, size),
    constraint ck_claim_evidence_claim check (claim ~ '^[A-Z]+[.]'),
    constraint ck_claim_evidence_evidence check (jsonb_typeof(evidence) = 'object'),
    constraint ck_claim_evidence_seconds check (seconds >= 0),
    constraint fk_claim_evidence_claim_run
        foreign key (claim_run) references claim_run (id) on delete cascade
);

create table claim_verdict (
    claim_run integer not null,
    claim text not null,
    verdict text not null,
    sizes jsonb not null,
    counterexample jsonb,
    detail text not null,
    subject text default '' not null,
    constraint pk_claim_verdict primary key (claim_run, claim),
    constraint ck_claim_verdict_verdict
        check (verdict in ('holds', 'holds as a bound', 'fails', 'not checkable')),
    constraint ck_claim_verdict_counterexample check (counterexample is null or verdict = 'fails'),
    constraint ck_claim_verdict_claim check (claim ~ '^[A-Z]+[.]'),
    constraint ck_claim_verdict_sizes check (jsonb_typeof(sizes) = 'array'),
    constraint fk_claim_verdict_claim_run
        foreign key (claim_run) references claim_run (id) on delete cascade
);
create index ix_claim_verdict_claim on claim_verdict (claim, claim_run);

create table record (
    id text not null,
    problem text not null,
    topology text not null,
    arguments jsonb default '{}'::jsonb not null,
    value integer not null,
    bound integer not null,
    optimal boolean not null,
    reason text not null,
    proof jsonb,
    verification text not null,
    witness bytea not null,
    solver text not null,
    version text not null,
    seconds double precision not null,
    command text not null,
    tried jsonb default '[]'::jsonb not null,
    stored_at timestamptz default now() not null,
    constraint pk_record primary key (id),
    constraint ck_record_topology check (topology ~ '^[A-Z][A-Za-z_-]*[0-9]+([,x][0-9]+)*$'),
    constraint ck_record_arguments check (jsonb_typeof(arguments) = 'object'),
    constraint ck_record_tried check (jsonb_typeof(tried) = 'array'),
    constraint ck_record_optimal check (optimal = (value = bound)),
    constraint ck_record_seconds check (seconds >= 0),
    constraint ck_record_verification
        check (verification in ('verified', 'not made again', 'not checked'))
)
"""


def upgrade() -> None:
    # The driver executes one statement at a time. No literal in the script contains a semicolon, so
    # the script can be split into statements at the semicolons.
    for statement in SCHEMA.split(";"):
        op.execute(statement)


def downgrade() -> None:
    raise CommandError(
        "the database schema cannot be downgraded:"
        " restore a backup from before the upgrade with 'starcast restore'"
    )
