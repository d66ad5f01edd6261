-- The service's own, there before Foothold came: a home-made task table and what it books.

create schema if not exists shop;

create table if not exists shop.tasks (
  id bigint generated always as identity primary key,
  status text not null default 'processing' check (status in ('processing', 'done', 'failed')),
  client text not null,
  request text not null,
  result json,
  error text,
  created_at timestamptz not null default now(),
  ended_at timestamptz
);

-- The ledger: one row is one thing that was really done. The key is what makes a repeated request harmless.
create table if not exists shop.ledger (
  idempotency_key text primary key,
  action text not null,
  task bigint not null,
  answer json not null,
  created_at timestamptz not null default now()
);
