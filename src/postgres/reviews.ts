/**
 * The data of an `AssetStatusChanged` without the reviews of one organization, as an SQL expression. Everything else
 * keeps its text and its order.
 * @param data a column of the type json
 * @param organization a parameter
 */
export const withoutReviewsOf = (data: string, organization: string): string => `
  (select '{' || string_agg(to_json(field.key) || ':' || case when field.key = 'brandReviews' then (
      select '[' || coalesce(string_agg(review.value::text, ',' order by review.ordinality), '') || ']'
      from json_array_elements(field.value) with ordinality review
      where review.value ->> 'organization' is distinct from ${organization}
    ) else field.value::text end, ',' order by field.ordinality) || '}'
  from json_each(${data}) with ordinality field)::json`;

/** Whether the data of an `AssetStatusChanged` has a review of an organization, as an SQL expression. */
export const hasReviewOf = (data: string, organization: string): string => `
  (strpos(${data}::text, to_json(${organization})::text) > 0 and exists (
    select from json_array_elements(case
      when json_typeof(${data} -> 'brandReviews') = 'array' then ${data} -> 'brandReviews'
    end) review where review ->> 'organization' = ${organization}))`;

/** The sum of two JSON objects of numbers, as an SQL expression of the type jsonb. */
export const addCounts = (one: string, other: string): string => `
  (select coalesce(jsonb_object_agg(name, n), '{}') from (
    select name, sum(n::bigint) as n from (
      select * from jsonb_each_text(${one}) union all select * from jsonb_each_text(${other})
    ) both_counts (name, n) group by name
  ) sums)`;
